// The parts of which plots are drawn: an SVG under construction, text, legend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace natsl::reports {

/// Size of a plot's drawing in its own units; it scales with the page.
inline constexpr double kPlotWidth = 560;
/// Room above what is plotted and to its right.
inline constexpr double kPlotTop = 34, kPlotRight = 16;
inline constexpr const char* kGrid = "var(--line,#d0d7de)";
inline constexpr const char* kQuiet = "var(--quiet,#57606a)";

enum class TextAnchor { kStart, kMiddle, kEnd };

/// "var(--s3,#a0349b)": the colour of series `index`, modulo the palette.
std::string SeriesColour(int index);

/// Roughly how wide `text` is at 13 units.
double TextWidth(std::string_view text);

class SvgCanvas {
 public:
  /// `title` is drawn on top and read aloud.
  SvgCanvas(std::string_view title, double height);

  void Line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
            std::string_view extra = "");
  void Text(double x, double y, std::string_view text, TextAnchor anchor,
            std::string_view extra = "");
  void Rectangle(double x, double y, double width, double height, std::string_view colour,
                 std::string_view tip, double opacity = 1);
  void Path(const std::string& data, std::string_view colour, std::string_view extra);
  /// A series' sign: shapes differ, so that colour isn't needed to tell them apart.
  void Marker(int index, double x, double y, std::string_view tip);
  void Raw(std::string_view markup) { body_ += markup; }

  std::string Finish() const;

 private:
  std::string title_;
  double height_;
  std::string body_;
};

struct LegendEntry {
  std::string name;
  int colour = 0;
  bool line = false, marker = false, dashed = false, box = false;
};

/// Height of the legend's rows.
double LegendHeight(const std::vector<LegendEntry>& entries);
void DrawLegend(SvgCanvas& canvas, double top, const std::vector<LegendEntry>& entries);

}  // namespace natsl::reports
