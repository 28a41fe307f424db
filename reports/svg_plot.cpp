// Line plots and histograms.
#include "reports/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/svg_canvas.h"

namespace natsl::reports {
namespace {

constexpr double kHeight = 340;  ///< without the legend
constexpr double kBottom = 48;

bool Drawable(double value, AxisScale scale) {
  return std::isfinite(value) && (scale == AxisScale::kLinear || value > 0);
}

struct Range {
  double low = 0, high = 0;
  bool empty = true;
  void Add(double value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
};

/// The frame with grid and labels, and where data go in it.
class Frame {
 public:
  Frame(SvgCanvas& canvas, const PlotAxis& x_axis, const PlotAxis& y_axis, AxisMap x, AxisMap y)
      : x_(std::move(x)), y_(std::move(y)) {
    double widest = 0;
    for (const AxisTick& tick : y_.ticks()) widest = std::max(widest, TextWidth(tick.label));
    left_ = 34 + widest;
    for (const AxisTick& tick : y_.ticks()) {
      canvas.Line(left_, Y(tick.value), kPlotWidth - kPlotRight, Y(tick.value), kGrid, 1);
      canvas.Text(left_ - 6, Y(tick.value) + 4.5, tick.label, TextAnchor::kEnd);
    }
    double taken = -1e9;
    for (const AxisTick& tick : x_.ticks()) {
      const double at = X(tick.value), half = TextWidth(tick.label) / 2;
      canvas.Line(at, kPlotTop, at, kHeight - kBottom, kGrid, 1);
      if (at - half < taken) continue;  // would run into the label before
      canvas.Text(at, kHeight - kBottom + 17, tick.label, TextAnchor::kMiddle);
      taken = at + half + 6;
    }
    canvas.Text((left_ + kPlotWidth - kPlotRight) / 2, kHeight - 10, x_axis.label,
                TextAnchor::kMiddle);
    const double middle = (kPlotTop + kHeight - kBottom) / 2;
    canvas.Text(13, middle, y_axis.label, TextAnchor::kMiddle,
                fmt::format("transform=\"rotate(-90 13 {:.2f})\"", middle));
  }

  double X(double value) const { return left_ + x_.Map(value) * (kPlotWidth - kPlotRight - left_); }
  double Y(double value) const {
    return kHeight - kBottom - y_.Map(value) * (kHeight - kBottom - kPlotTop);
  }
  double left() const { return left_; }

 private:
  AxisMap x_, y_;
  double left_ = 0;
};

std::string Tip(const LinePlot& plot, const PlotSeries& series, const PlotPoint& point) {
  if (!point.tip.empty()) return point.tip;
  std::string tip =
      fmt::format("{}{}{}: {}", series.name, series.name.empty() ? "" : ", ",
                  FormatNumber(point.x, plot.x.format, 4), FormatNumber(point.y, plot.y.format, 4));
  if (point.low && point.high) {
    tip += fmt::format(" ({} to {})", FormatNumber(*point.low, plot.y.format, 4),
                       FormatNumber(*point.high, plot.y.format, 4));
  }
  return tip;
}

std::vector<PlotPoint> Visible(const LinePlot& plot, const PlotSeries& series) {
  std::vector<PlotPoint> points;
  for (const PlotPoint& point : series.points) {
    if (Drawable(point.x, plot.x.scale) && Drawable(point.y, plot.y.scale)) points.push_back(point);
  }
  return points;
}

std::string PathOf(const Frame& frame, const std::vector<PlotPoint>& points) {
  std::string path;
  for (const PlotPoint& point : points) {
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", frame.X(point.x),
                        frame.Y(point.y));
  }
  return path;
}

void DrawBand(SvgCanvas& canvas, const Frame& frame, const std::vector<PlotPoint>& points,
              const std::string& colour) {
  std::string upper, lower;
  for (const PlotPoint& point : points) {
    if (!point.low || !point.high) continue;
    upper += fmt::format("{}{:.2f} {:.2f}", upper.empty() ? "M" : "L", frame.X(point.x),
                         frame.Y(*point.high));
    lower = fmt::format("L{:.2f} {:.2f}", frame.X(point.x), frame.Y(*point.low)) + lower;
  }
  if (upper.empty()) return;
  canvas.Raw(fmt::format("<path d=\"{}{}Z\" style=\"fill:{}\" fill-opacity=\"0.18\"/>\n", upper,
                         lower, colour));
}

void DrawSeries(SvgCanvas& canvas, const Frame& frame, const LinePlot& plot, size_t index) {
  const PlotSeries& series = plot.series[index];
  const int number = series.colour >= 0 ? series.colour : static_cast<int>(index);
  const std::string colour = SeriesColour(number);
  const std::vector<PlotPoint> points = Visible(plot, series);
  if (series.band) DrawBand(canvas, frame, points, colour);
  if (series.line && points.size() > 1) {
    canvas.Path(PathOf(frame, points), colour,
                series.dashed ? "stroke-width=\"1.6\" stroke-dasharray=\"6 4\""
                              : "stroke-width=\"2\" stroke-linejoin=\"round\"");
  }
  for (const PlotPoint& point : points) {
    const double x = frame.X(point.x);
    if (!series.band && point.low && point.high && Drawable(*point.low, plot.y.scale)) {
      const double low = frame.Y(*point.low), high = frame.Y(*point.high);
      canvas.Line(x, low, x, high, colour, 1.5);
      for (const double end : {low, high}) canvas.Line(x - 4, end, x + 4, end, colour, 1.5);
    }
    if (series.markers) {
      canvas.Marker(number, x, frame.Y(point.y), Tip(plot, series, point));
    }
  }
}

void DrawRules(SvgCanvas& canvas, const Frame& frame, const LinePlot& plot) {
  double row = kPlotTop + 13;
  for (const PlotRule& rule : plot.rules) {
    if (rule.x && Drawable(*rule.x, plot.x.scale)) {
      const double x = frame.X(*rule.x);
      if (x < frame.left() || x > kPlotWidth - kPlotRight) continue;
      canvas.Line(x, kPlotTop, x, kHeight - kBottom, kQuiet, 1.5, "stroke-dasharray=\"2 4\"");
      const bool right = x + 6 + TextWidth(rule.label) < kPlotWidth - kPlotRight;
      canvas.Text(right ? x + 5 : x - 5, row, rule.label,
                  right ? TextAnchor::kStart : TextAnchor::kEnd);
      row += 15;  // labels of neighbours don't run into each other
    }
    if (rule.y && Drawable(*rule.y, plot.y.scale)) {
      const double y = frame.Y(*rule.y);
      if (y < kPlotTop || y > kHeight - kBottom) continue;
      canvas.Line(frame.left(), y, kPlotWidth - kPlotRight, y, kQuiet, 1.5,
                  "stroke-dasharray=\"2 4\"");
      canvas.Text(kPlotWidth - kPlotRight - 3, y - 5, rule.label, TextAnchor::kEnd);
    }
  }
}

}  // namespace

std::string RenderSvg(const LinePlot& plot) {
  Range x, y;
  std::set<double> positions;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : Visible(plot, series)) {
      x.Add(point.x);
      y.Add(point.y);
      if (series.markers) positions.insert(point.x);
      for (const std::optional<double>& end : {point.low, point.high}) {
        if (end && Drawable(*end, plot.y.scale)) y.Add(*end);
      }
    }
  }
  if (x.empty) return "";
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    if (series.name.empty() || Visible(plot, series).empty()) continue;
    legend.push_back({.name = series.name,
                      .colour = series.colour >= 0 ? series.colour : static_cast<int>(i),
                      .line = series.line,
                      .marker = series.markers,
                      .dashed = series.dashed});
  }
  SvgCanvas canvas(plot.title, kHeight + LegendHeight(legend));
  const Frame frame(
      canvas, plot.x, plot.y,
      AxisMap(plot.x, x.low, x.high, 8, std::vector<double>(positions.begin(), positions.end())),
      AxisMap(plot.y, y.low, y.high, 6));
  DrawRules(canvas, frame, plot);
  for (size_t i = 0; i < plot.series.size(); ++i) DrawSeries(canvas, frame, plot, i);
  DrawLegend(canvas, kHeight, legend);
  return canvas.Finish();
}

std::string RenderSvg(const HistogramPlot& plot) {
  Range range;
  for (const HistogramPlot::Series& series : plot.series) {
    for (const double value : series.values) {
      if (Drawable(value, AxisScale::kLinear)) range.Add(value);
    }
  }
  if (range.empty || plot.bins < 1) return "";
  const double low = plot.x.low.value_or(range.low), high = plot.x.high.value_or(range.high);
  const double width = high > low ? (high - low) / plot.bins : 1;
  // Each distribution as a share of its own values, so that different numbers of them compare.
  LinePlot lines{.title = plot.title,
                 .x = plot.x,
                 .y = {.label = "share of samples", .format = NumberFormat::kPercent, .low = 0.0},
                 .series = {},
                 .rules = {}};
  lines.x.scale = AxisScale::kLinear;
  for (const HistogramPlot::Series& series : plot.series) {
    std::vector<int64_t> counts(static_cast<size_t>(plot.bins), 0);
    int64_t total = 0;
    for (const double value : series.values) {
      if (!std::isfinite(value) || value < low || value > high) continue;
      const int bin = std::min(plot.bins - 1, static_cast<int>((value - low) / width));
      ++counts[static_cast<size_t>(bin)];
      ++total;
    }
    PlotSeries steps{.name = series.name, .points = {}, .markers = false};
    for (int bin = 0; bin < plot.bins; ++bin) {
      const double share = total == 0 ? 0
                                      : static_cast<double>(counts[static_cast<size_t>(bin)]) /
                                            static_cast<double>(total);
      steps.points.push_back({.x = low + bin * width, .y = share});
      steps.points.push_back({.x = low + (bin + 1) * width, .y = share});
    }
    lines.series.push_back(std::move(steps));
  }
  return RenderSvg(lines);
}

}  // namespace natsl::reports
