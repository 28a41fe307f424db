// Bars and stacked bars, one a row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/svg_canvas.h"
#include "reports/svg_plot.h"

namespace natsl::reports {
namespace {

constexpr double kRow = 26, kBar = 15, kBarsBottom = 44;
constexpr double kLongestName = 190;

std::string Shortened(const std::string& name) {
  const size_t most = static_cast<size_t>(kLongestName / TextWidth("x"));
  if (name.size() <= most) return name;
  std::string cut = name.substr(0, most - 1);
  while (!cut.empty() && (static_cast<unsigned char>(cut.back()) & 0x80) != 0) cut.pop_back();
  return cut + "…";
}

/// Names on the left, a value axis below.
class BarRows {
 public:
  BarRows(SvgCanvas& canvas, const PlotAxis& axis, const std::vector<std::string>& names,
          double low, double high, double room_right)
      : right_(kPlotWidth - kPlotRight - room_right), map_(axis, low, high, 5) {
    for (const std::string& name : names) left_ = std::max(left_, TextWidth(Shortened(name)) + 20);
    const double bottom = kPlotTop + kRow * static_cast<double>(names.size());
    for (const AxisTick& tick : map_.ticks()) {
      canvas.Line(X(tick.value), kPlotTop, X(tick.value), bottom, kGrid, 1);
      canvas.Text(X(tick.value), bottom + 17, tick.label, TextAnchor::kMiddle);
    }
    canvas.Text((left_ + right_) / 2, bottom + 36, axis.label, TextAnchor::kMiddle);
    for (size_t i = 0; i < names.size(); ++i) {
      canvas.Text(left_ - 8, Y(i) + kBar / 2 + 4.5, Shortened(names[i]), TextAnchor::kEnd);
    }
  }

  double X(double value) const { return left_ + map_.Map(value) * (right_ - left_); }
  double Y(size_t row) const {
    return kPlotTop + kRow * static_cast<double>(row) + (kRow - kBar) / 2;
  }

 private:
  double left_ = 40, right_;
  AxisMap map_;
};

}  // namespace

std::string RenderSvg(const BarPlot& plot) {
  std::vector<std::string> names, texts;
  std::vector<LegendEntry> legend;
  double low = 0, high = 0, room = 0;
  std::string last;
  for (const BarPlot::Bar& bar : plot.bars) {
    if (!std::isfinite(bar.value)) continue;
    names.push_back(bar.series.empty() || bar.name != last ? bar.name : "");
    last = bar.name;
    const auto known = [&](const LegendEntry& entry) { return entry.name == bar.series; };
    if (!bar.series.empty() && std::none_of(legend.begin(), legend.end(), known)) {
      legend.push_back({.name = bar.series, .colour = bar.colour, .box = true});
    }
    texts.push_back(bar.text.empty() ? FormatNumber(bar.value, plot.value.format) : bar.text);
    room = std::max(room, TextWidth(texts.back()) + 10);
    low = std::min({low, bar.value, bar.low.value_or(0)});
    high = std::max({high, bar.value, bar.high.value_or(0)});
  }
  if (names.empty()) return "";
  const double height = kPlotTop + kBarsBottom + kRow * static_cast<double>(names.size());
  SvgCanvas canvas(plot.title, height + LegendHeight(legend));
  PlotAxis axis = plot.value;
  axis.scale = AxisScale::kLinear;
  const BarRows rows(canvas, axis, names, low, high, room);
  for (const PlotRule& rule : plot.rules) {
    if (!rule.x || *rule.x < low || *rule.x > high) continue;
    canvas.Line(rows.X(*rule.x), kPlotTop, rows.X(*rule.x), height - kBarsBottom, kQuiet, 1.5,
                "stroke-dasharray=\"2 4\"");
  }
  size_t row = 0;
  for (const BarPlot::Bar& bar : plot.bars) {
    if (!std::isfinite(bar.value)) continue;
    const double from = rows.X(std::min(0.0, bar.value)), to = rows.X(std::max(0.0, bar.value));
    const double y = rows.Y(row);
    canvas.Rectangle(from, y, to - from, kBar, SeriesColour(bar.colour),
                     fmt::format("{}{}{}: {}", bar.name, bar.series.empty() ? "" : ", ", bar.series,
                                 texts[row]));
    double end = to;
    if (bar.low && bar.high) {
      const double middle = y + kBar / 2;
      canvas.Line(rows.X(*bar.low), middle, rows.X(*bar.high), middle, "currentColor", 1.5);
      for (const double at : {*bar.low, *bar.high}) {
        canvas.Line(rows.X(at), middle - 4, rows.X(at), middle + 4, "currentColor", 1.5);
      }
      end = std::max(end, rows.X(*bar.high));
    }
    canvas.Text(end + 6, y + kBar / 2 + 4.5, texts[row], TextAnchor::kStart);
    ++row;
  }
  DrawLegend(canvas, height, legend);
  return canvas.Finish();
}

std::string RenderSvg(const StackedBarPlot& plot) {
  std::vector<std::string> names;
  double high = 0;
  for (const StackedBarPlot::Bar& bar : plot.bars) {
    names.push_back(bar.name);
    double sum = 0;
    for (const double part : bar.parts) sum += part;
    high = std::max(high, sum);
  }
  if (names.empty() || !(high > 0)) return "";
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < plot.parts.size(); ++i) {
    legend.push_back({.name = plot.parts[i], .colour = static_cast<int>(i), .box = true});
  }
  const double height = kPlotTop + kBarsBottom + kRow * static_cast<double>(names.size());
  SvgCanvas canvas(plot.title, height + LegendHeight(legend));
  PlotAxis axis = plot.value;
  axis.scale = AxisScale::kLinear;
  const BarRows rows(canvas, axis, names, 0, high, 10);
  for (size_t row = 0; row < plot.bars.size(); ++row) {
    double at = 0;
    for (size_t part = 0; part < plot.bars[row].parts.size(); ++part) {
      const double value = plot.bars[row].parts[part];
      canvas.Rectangle(rows.X(at), rows.Y(row), rows.X(at + value) - rows.X(at), kBar,
                       SeriesColour(static_cast<int>(part)),
                       fmt::format("{}, {}: {}", names[row], plot.parts[part],
                                   FormatNumber(value, plot.value.format, 4)));
      at += value;
    }
  }
  DrawLegend(canvas, height, legend);
  return canvas.Finish();
}

}  // namespace natsl::reports
