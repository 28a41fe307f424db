// Plots as SVG text for an HtmlPage, drawn here rather than by a script: lines with error bars or
// bands, bars, histograms. Pure functions; the same data give the same bytes. Colours are the
// page's CSS variables (--s0 ... --s7, --line, --quiet) with fallbacks, so that a plot follows the
// page's light or dark look. An empty string where there is nothing to draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/svg_axis.h"

namespace natsl::reports {

struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low = {}, high = {};  ///< interval of y
  std::string tip = {};                       ///< shown on hover; "": made from the axes
};

struct PlotSeries {
  std::string name;  ///< "": not in the legend
  std::vector<PlotPoint> points = {};
  bool line = true;
  bool markers = true;
  bool dashed = false;
  bool band = false;  ///< intervals as a band instead of bars
  int colour = -1;    ///< 0 to 7; -1: by position
};

/// A line across the plot, at an x or a y.
struct PlotRule {
  std::optional<double> x = {}, y = {};
  std::string label = {};
};

struct LinePlot {
  std::string title = {};
  PlotAxis x, y;
  std::vector<PlotSeries> series = {};
  std::vector<PlotRule> rules = {};
};

/// Points that aren't finite, or not positive on a log axis, are left out.
std::string RenderSvg(const LinePlot& plot);

/// Horizontal bars from zero, one a row.
struct BarPlot {
  struct Bar {
    std::string name;
    double value = 0;
    std::optional<double> low = {}, high = {};
    int colour = 0;
    std::string text = {};  ///< behind the bar; "": the value
    std::string series =
        {};  ///< whose bar it is, said in a legend; bars of one name stand together
  };
  std::string title = {};
  PlotAxis value;
  std::vector<Bar> bars = {};
  std::vector<PlotRule> rules = {};  ///< at x
};
std::string RenderSvg(const BarPlot& plot);

/// Horizontal bars of several parts each.
struct StackedBarPlot {
  struct Bar {
    std::string name;
    std::vector<double> parts;  ///< as many as `parts`
  };
  std::string title = {};
  PlotAxis value;
  std::vector<std::string> parts = {};
  std::vector<Bar> bars = {};
};
std::string RenderSvg(const StackedBarPlot& plot);

/// Distributions over one axis, as steps: `bins` bins between the smallest and the largest value.
struct HistogramPlot {
  struct Series {
    std::string name;
    std::vector<double> values;
  };
  std::string title = {};
  PlotAxis x;
  std::vector<Series> series = {};
  int bins = 30;
};
std::string RenderSvg(const HistogramPlot& plot);

}  // namespace natsl::reports
