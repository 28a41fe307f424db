// Axes and plots: numbers, ticks and where things are drawn.
#include "reports/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace natsl::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Labels(const AxisMap& map) {
  std::vector<std::string> labels;
  for (const AxisTick& tick : map.ticks()) labels.push_back(tick.label);
  return labels;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FormatNumber, WritesUnits) {
  EXPECT_EQ(FormatNumber(1250, NumberFormat::kPlain), "1250");
  EXPECT_EQ(FormatNumber(0.02, NumberFormat::kPlain), "0.02");
  EXPECT_EQ(FormatNumber(1.0 / 3, NumberFormat::kPlain), "0.333");
  EXPECT_EQ(FormatNumber(131072, NumberFormat::kTokens), "128k");
  EXPECT_EQ(FormatNumber(1000, NumberFormat::kTokens), "1000");
  EXPECT_EQ(FormatNumber(0.0032, NumberFormat::kSeconds), "3.2 ms");
  EXPECT_EQ(FormatNumber(0.99996, NumberFormat::kSeconds), "1 s");
  EXPECT_EQ(FormatNumber(64.0 * 1024 * 1024, NumberFormat::kBytes), "64 MiB");
  EXPECT_EQ(FormatNumber(0.25, NumberFormat::kPercent), "25 %");
  EXPECT_EQ(FormatNumber(1.5, NumberFormat::kMultiple), "1.5×");
  EXPECT_EQ(FormatNumber(std::nan(""), NumberFormat::kPlain), "–");
}

TEST(AxisMap, LinearAxesEndAtTicks) {
  const AxisMap map({.label = ""}, 0, 9.3, 6);
  EXPECT_THAT(Labels(map), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_DOUBLE_EQ(map.Map(5), 0.5);
}

TEST(AxisMap, LogAxesMapRatiosToLengths) {
  const AxisMap map({.label = "", .scale = AxisScale::kLog10, .low = 1.0, .high = 1000.0}, 1, 1000,
                    6);
  EXPECT_THAT(Labels(map), ElementsAre("1", "10", "100", "1000"));
  EXPECT_NEAR(map.Map(10), 1.0 / 3, 1e-12);
  const AxisMap lengths({.label = "", .scale = AxisScale::kLog2, .format = NumberFormat::kTokens},
                        1024, 4096, 8, {1024, 2048, 4096});
  EXPECT_THAT(Labels(lengths), ElementsAre("1k", "2k", "4k"));
}

TEST(AxisMap, OneValueAndNarrowRangesHaveTicks) {
  EXPECT_GE(AxisMap({.label = ""}, 3, 3, 5).ticks().size(), 2u);
  EXPECT_GE(AxisMap({.label = "", .scale = AxisScale::kLog10}, 3, 3.2, 5).ticks().size(), 2u);
  EXPECT_GE(AxisMap({.label = "", .scale = AxisScale::kLog10}, 5, 5, 5).ticks().size(), 2u);
}

LinePlot ExamplePlot() {
  LinePlot plot;
  plot.title = "Prefill <ms>";
  plot.x = {.label = "prompt", .scale = AxisScale::kLog2, .format = NumberFormat::kTokens};
  plot.y = {.label = "time", .scale = AxisScale::kLog10, .format = NumberFormat::kSeconds};
  plot.series = {{.name = "subject",
                  .points = {{1024, 0.01, 0.009, 0.011, ""}, {2048, 0.02, 0.019, 0.021, ""}}},
                 {.name = "fit",
                  .points = {{1024, 0.01, {}, {}, ""}, {2048, 0.02, {}, {}, ""}},
                  .markers = false,
                  .dashed = true}};
  plot.rules = {{.x = 1500.0, .y = {}, .label = "crossover"}};
  return plot;
}

TEST(LinePlot, DrawsSeriesIntervalsRulesAndLegend) {
  const std::string svg = RenderSvg(ExamplePlot());
  EXPECT_EQ(svg, RenderSvg(ExamplePlot()));
  EXPECT_THAT(svg, HasSubstr("aria-label=\"Prefill &lt;ms&gt;\""));
  EXPECT_THAT(svg, HasSubstr("<title>subject, 1k: 10 ms (9 ms to 11 ms)</title>"));
  EXPECT_THAT(svg, HasSubstr(">crossover</text>"));
  EXPECT_EQ(Count(svg, "<circle"), 3);  // two points and the legend
  EXPECT_EQ(Count(svg, "<path"), 2);    // two lines
  EXPECT_THAT(svg, HasSubstr(">fit</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlot, LeavesOutWhatALogAxisCantShow) {
  LinePlot plot = ExamplePlot();
  plot.series[0].points.push_back({4096, 0, {}, {}, ""});
  plot.series[0].points.push_back({4096, std::numeric_limits<double>::infinity(), {}, {}, ""});
  EXPECT_EQ(RenderSvg(plot), RenderSvg(ExamplePlot()));
  plot.series.clear();
  EXPECT_EQ(RenderSvg(plot), "");
}

TEST(Histogram, IsInSharesOfEachSeries) {
  HistogramPlot plot{.title = "steps",
                     .x = {.label = "time", .format = NumberFormat::kSeconds},
                     .series = {{"a", {0.001, 0.001, 0.001, 0.002}}},
                     .bins = 2};
  const std::string svg = RenderSvg(plot);
  EXPECT_THAT(svg, HasSubstr(">80 %</text>"));  // the axis reaches over 75 %
  EXPECT_THAT(svg, Not(HasSubstr(">100 %</text>")));
  plot.series.clear();
  EXPECT_EQ(RenderSvg(plot), "");
}

TEST(Bars, ShowValuesAndParts) {
  BarPlot bars{.title = "accuracy",
               .value = {.label = "accuracy", .format = NumberFormat::kPercent},
               .bars = {{.name = "piqa", .value = 0.5, .low = 0.4, .high = 0.6}},
               .rules = {}};
  EXPECT_THAT(RenderSvg(bars), HasSubstr(">50 %</text>"));
  bars.bars[0].series = "base";
  bars.bars.push_back(bars.bars[0]);
  bars.bars[1].series = "new";
  const std::string grouped = RenderSvg(bars);
  EXPECT_THAT(grouped, HasSubstr("piqa, base: 50 %"));
  EXPECT_THAT(grouped, HasSubstr("piqa, new: 50 %"));
  // The name stands once; whose bars they are, in the legend.
  const size_t name = grouped.find(">piqa</text>");
  EXPECT_NE(name, std::string::npos);
  EXPECT_EQ(grouped.find(">piqa</text>", name + 1), std::string::npos);
  EXPECT_THAT(grouped, HasSubstr(">base</text>"));
  EXPECT_THAT(grouped, HasSubstr(">new</text>"));
  StackedBarPlot stacked{.title = "memory",
                         .value = {.label = "memory", .format = NumberFormat::kBytes},
                         .parts = {"weights", "KV"},
                         .bars = {{"4k", {1024, 2048}}}};
  EXPECT_THAT(RenderSvg(stacked), HasSubstr("<title>4k, KV: 2 KiB</title>"));
  stacked.bars[0].parts = {0, 0};
  EXPECT_EQ(RenderSvg(stacked), "");
}

}  // namespace
}  // namespace natsl::reports
