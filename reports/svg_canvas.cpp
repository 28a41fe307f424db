#include "reports/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/utf8.h"
#include "reports/html_page.h"

namespace natsl::reports {
namespace {

constexpr std::array<const char*, 8> kFallback = {"#0b62c4", "#c2510a", "#0a8166", "#a0349b",
                                                  "#8a6d00", "#c22a52", "#4b57a8", "#5d6b78"};
constexpr double kLegendRow = 19;
constexpr double kLegendLeft = 14;
constexpr double kSample = 26;
constexpr double kGap = 18;

struct Place {
  double x, y;
};

// Where each entry goes, row by row.
std::vector<Place> Layout(const std::vector<LegendEntry>& entries) {
  std::vector<Place> places;
  double x = kLegendLeft, y = 0;
  for (const LegendEntry& entry : entries) {
    const double width = kSample + 6 + TextWidth(entry.name);
    if (x > kLegendLeft && x + width > kPlotWidth - 8) {
      x = kLegendLeft;
      y += kLegendRow;
    }
    places.push_back({x, y});
    x += width + kGap;
  }
  return places;
}

std::string WithTip(std::string_view element, std::string_view attributes, std::string_view tip) {
  if (tip.empty()) return fmt::format("<{} {}/>\n", element, attributes);
  return fmt::format("<{} {}><title>{}</title></{}>\n", element, attributes, EscapeHtml(tip),
                     element);
}

}  // namespace

std::string SeriesColour(int index) {
  const int slot = ((index % 8) + 8) % 8;
  return fmt::format("var(--s{},{})", slot, kFallback[static_cast<size_t>(slot)]);
}

double TextWidth(std::string_view text) {
  return 7.4 * static_cast<double>(core::CountCodePoints(text));
}

SvgCanvas::SvgCanvas(std::string_view title, double height) : title_(title), height_(height) {
  if (!title.empty()) Text(kLegendLeft, 20, title, TextAnchor::kStart, "font-weight=\"600\"");
}

void SvgCanvas::Line(double x1, double y1, double x2, double y2, std::string_view colour,
                     double width, std::string_view extra) {
  body_ += fmt::format(
      "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" style=\"stroke:{}\" "
      "stroke-width=\"{}\" {}/>\n",
      x1, y1, x2, y2, colour, width, extra);
}

void SvgCanvas::Text(double x, double y, std::string_view text, TextAnchor anchor,
                     std::string_view extra) {
  const char* name = anchor == TextAnchor::kStart    ? "start"
                     : anchor == TextAnchor::kMiddle ? "middle"
                                                     : "end";
  body_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y,
                       name, extra, EscapeHtml(text));
}

void SvgCanvas::Rectangle(double x, double y, double width, double height, std::string_view colour,
                          std::string_view tip, double opacity) {
  body_ += WithTip("rect",
                   fmt::format("x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
                               "style=\"fill:{}\" fill-opacity=\"{}\"",
                               x, y, std::max(0.0, width), std::max(0.0, height), colour, opacity),
                   tip);
}

void SvgCanvas::Path(const std::string& data, std::string_view colour, std::string_view extra) {
  body_ +=
      fmt::format("<path d=\"{}\" fill=\"none\" style=\"stroke:{}\" {}/>\n", data, colour, extra);
}

void SvgCanvas::Marker(int index, double x, double y, std::string_view tip) {
  const std::string fill = fmt::format("style=\"fill:{}\"", SeriesColour(index));
  switch (((index % 4) + 4) % 4) {
    case 0:
      body_ +=
          WithTip("circle", fmt::format("cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4\" {}", x, y, fill), tip);
      return;
    case 1:
      body_ += WithTip("rect",
                       fmt::format("x=\"{:.2f}\" y=\"{:.2f}\" width=\"7.2\" height=\"7.2\" {}",
                                   x - 3.6, y - 3.6, fill),
                       tip);
      return;
    case 2:
      body_ +=
          WithTip("path", fmt::format("d=\"M{:.2f} {:.2f}l5 8.4h-10z\" {}", x, y - 5.2, fill), tip);
      return;
    default:
      body_ += WithTip("path",
                       fmt::format("d=\"M{:.2f} {:.2f}l5 5l-5 5l-5 -5z\" {}", x, y - 5, fill), tip);
  }
}

std::string SvgCanvas::Finish() const {
  return fmt::format(
      "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.0f}\" "
      "role=\"img\" aria-label=\"{}\" font-family=\"system-ui,sans-serif\" font-size=\"13\" "
      "fill=\"currentColor\">\n{}</svg>\n",
      kPlotWidth, height_, EscapeHtml(title_), body_);
}

double LegendHeight(const std::vector<LegendEntry>& entries) {
  return entries.empty() ? 0 : Layout(entries).back().y + kLegendRow;
}

void DrawLegend(SvgCanvas& canvas, double top, const std::vector<LegendEntry>& entries) {
  const std::vector<Place> places = Layout(entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    const LegendEntry& entry = entries[i];
    const double x = places[i].x, y = top + places[i].y + 9;
    const std::string colour = SeriesColour(entry.colour);
    if (entry.box) canvas.Rectangle(x + 6, y - 6, kSample - 10, 11, colour, "");
    if (entry.line) {
      canvas.Line(x, y, x + kSample, y, colour, 2, entry.dashed ? "stroke-dasharray=\"6 4\"" : "");
    }
    if (entry.marker) canvas.Marker(entry.colour, x + kSample / 2, y, "");
    canvas.Text(x + kSample + 6, y + 4.5, entry.name, TextAnchor::kStart);
  }
}

}  // namespace natsl::reports
