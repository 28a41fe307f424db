#include "reports/latency_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "latency/record/lengths.h"
#include "reports/latency_text.h"
#include "reports/svg_plot.h"

namespace natsl::reports {
namespace {

using latency::LatencyRecord;
using latency::Measurement;
using latency::Phase;

using Group = std::pair<Phase, int64_t>;  // phase and batch

int64_t LengthOf(const latency::Point& point) {
  return point.phase == Phase::kDecode || point.phase == Phase::kSample ? point.depth
                                                                        : point.prompt;
}

std::string Title(const char* what, const Group& group) {
  return group.second == 1 ? fmt::format("{}: {}", Name(group.first), what)
                           : fmt::format("{}, batch {}: {}", Name(group.first), group.second, what);
}

PlotAxis LengthAxis(Phase phase, bool log = true) {
  return {.label = phase == Phase::kDecode ? "tokens held (depth)" : "prompt tokens",
          .scale = log ? AxisScale::kLog2 : AxisScale::kLinear,
          .format = NumberFormat::kTokens};
}

std::map<Group, std::vector<const Measurement*>> Groups(
    const LatencyRecord& record, const std::function<bool(const Measurement&)>& wanted) {
  std::map<Group, std::vector<const Measurement*>> groups;
  for (const Measurement& m : record.measurements) {
    if (m.summary.count > 0 && wanted(m)) groups[{m.point.phase, m.point.batch}].push_back(&m);
  }
  return groups;
}

PlotSeries& SeriesOf(LinePlot& plot, const LatencyRecord& record, int64_t variant) {
  const std::string& name = VariantOf(record, variant).label;
  for (PlotSeries& series : plot.series) {
    if (series.name == name) return series;
  }
  plot.series.push_back({.name = name, .colour = static_cast<int>(variant)});
  return plot.series.back();
}

void AddFits(LinePlot& plot, const LatencyRecord& record, const Group& group) {
  for (const latency::LengthFit& fit : record.fits) {
    if (!fit.valid || Group(fit.phase, fit.batch) != group) continue;
    const PlotSeries& measured = SeriesOf(plot, record, fit.variant);
    if (measured.points.size() < 2) continue;
    const double from = measured.points.front().x, to = measured.points.back().x;
    PlotSeries line{
        .name = "", .markers = false, .dashed = true, .colour = static_cast<int>(fit.variant)};
    constexpr int kPieces = 64;
    for (int i = 0; i <= kPieces; ++i) {
      const double x = from * std::pow(to / from, static_cast<double>(i) / kPieces);
      line.points.push_back({.x = x, .y = fit.a + fit.b * x + fit.c * x * x});
    }
    plot.series.push_back(std::move(line));
  }
  for (const latency::Crossover& crossover : record.crossovers) {
    if (!crossover.length || Group(crossover.phase, crossover.batch) != group) continue;
    if (!crossover.text.starts_with("beyond")) continue;
    plot.rules.push_back(
        {.x = *crossover.length, .label = fmt::format("crossover {:.0f}", *crossover.length)});
  }
}

LinePlot TimePlot(const LatencyRecord& record, const Group& group,
                  const std::vector<const Measurement*>& points) {
  LinePlot plot;
  const bool decode = group.first == Phase::kDecode;
  plot.title = Title(decode ? "time a token against depth" : "time against length", group);
  // Depth 0 has no place on a log axis.
  const bool log = std::none_of(points.begin(), points.end(),
                                [](const Measurement* m) { return LengthOf(m->point) == 0; });
  plot.x = LengthAxis(group.first, log);
  plot.y = {.label = decode ? "time a token" : "time",
            .scale = decode ? AxisScale::kLinear : AxisScale::kLog10,
            .format = NumberFormat::kSeconds};
  if (decode) plot.y.low = 0.0;
  for (const Measurement* m : points) {
    SeriesOf(plot, record, m->variant)
        .points.push_back({.x = static_cast<double>(LengthOf(m->point)),
                           .y = m->summary.median,
                           .low = m->summary.low,
                           .high = m->summary.high});
  }
  if (!decode) {
    // Lines connect what the fit doesn't: where there is one it is the line.
    for (PlotSeries& series : plot.series) {
      series.line = std::none_of(record.fits.begin(), record.fits.end(), [&](const auto& fit) {
        return fit.valid && Group(fit.phase, fit.batch) == group &&
               VariantOf(record, fit.variant).label == series.name;
      });
    }
    const size_t measured = plot.series.size();
    AddFits(plot, record, group);
    if (plot.series.size() > measured) plot.title += " (dashed: a + bL + cL²)";
  }
  return plot;
}

/// The points with the largest length, one a variant.
std::vector<const Measurement*> Longest(const LatencyRecord& record, Phase phase) {
  int64_t longest = -1, batch = 0;
  for (const Measurement& m : record.measurements) {
    if (m.point.phase != phase) continue;
    if (LengthOf(m.point) > longest) {
      longest = LengthOf(m.point);
      batch = m.point.batch;
    }
  }
  std::vector<const Measurement*> points;
  for (const Measurement& m : record.measurements) {
    if (m.point.phase == phase && LengthOf(m.point) == longest && m.point.batch == batch) {
      points.push_back(&m);
    }
  }
  return points;
}

}  // namespace

std::vector<std::string> LengthPlots(const LatencyRecord& record) {
  std::vector<std::string> plots;
  const auto groups = Groups(record, [](const Measurement& m) {
    return m.point.phase != Phase::kDecode && m.point.phase != Phase::kSample;
  });
  for (const auto& [group, points] : groups) {
    plots.push_back(RenderSvg(TimePlot(record, group, points)));
  }
  return plots;
}

std::vector<std::string> DecodePlots(const LatencyRecord& record) {
  std::vector<std::string> plots;
  const auto groups =
      Groups(record, [](const Measurement& m) { return m.point.phase == Phase::kDecode; });
  for (const auto& [group, points] : groups) {
    plots.push_back(RenderSvg(TimePlot(record, group, points)));
  }
  return plots;
}

std::vector<std::string> SpeedUpPlots(const LatencyRecord& record) {
  std::map<Group, LinePlot> plots;
  for (const latency::SpeedUp& s : record.speed_ups) {
    if (!(s.ratio > 0) || s.point.phase == Phase::kTokenize) continue;
    const Group group(s.point.phase, s.point.batch);
    LinePlot& plot = plots[group];
    const std::string name = fmt::format("{} over {}", VariantOf(record, s.variant).label,
                                         VariantOf(record, s.baseline).label);
    auto series = std::find_if(plot.series.begin(), plot.series.end(),
                               [&](const PlotSeries& one) { return one.name == name; });
    if (series == plot.series.end()) {
      plot.series.push_back({.name = name});
      series = plot.series.end() - 1;
    }
    series->points.push_back(
        {.x = static_cast<double>(LengthOf(s.point)), .y = s.ratio, .low = s.low, .high = s.high});
  }
  std::vector<std::string> svgs;
  for (auto& [group, plot] : plots) {
    bool log = true;
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& point : series.points) log &= point.x > 0;
    }
    plot.title = Title("speed-up against length", group);
    plot.x = LengthAxis(group.first, log);
    plot.y = {.label = "speed-up", .format = NumberFormat::kMultiple, .low = 0.0};
    plot.rules.push_back({.y = 1.0, .label = "as fast"});
    svgs.push_back(RenderSvg(plot));
  }
  return svgs;
}

std::vector<std::string> MemoryPlots(const LatencyRecord& record) {
  std::vector<std::string> svgs;
  const auto groups =
      Groups(record, [](const Measurement& m) { return m.point.phase == Phase::kPrefill; });
  for (const auto& [group, points] : groups) {
    LinePlot plot;
    plot.title = Title("memory of the states against length", group);
    plot.x = LengthAxis(group.first);
    plot.y = {.label = "bytes", .scale = AxisScale::kLog2, .format = NumberFormat::kBytes};
    for (const Measurement* m : points) {
      const latency::Memory& memory = m->memory;
      SeriesOf(plot, record, m->variant)
          .points.push_back({.x = static_cast<double>(m->point.prompt),
                             .y = static_cast<double>(memory.kv_bytes + memory.recurrent_bytes +
                                                      memory.convolution_bytes)});
    }
    svgs.push_back(RenderSvg(plot));
  }
  StackedBarPlot bars;
  bars.value = {.label = "memory", .format = NumberFormat::kBytes};
  bars.parts = {"weights", "KV", "recurrent", "convolution", "activations"};
  for (const Measurement* m : Longest(record, Phase::kPrefill)) {
    bars.title = "memory at " + Name(m->point);
    const latency::Memory& memory = m->memory;
    bars.bars.push_back(
        {VariantOf(record, m->variant).label,
         {static_cast<double>(memory.weights_bytes), static_cast<double>(memory.kv_bytes),
          static_cast<double>(memory.recurrent_bytes),
          static_cast<double>(memory.convolution_bytes),
          static_cast<double>(memory.activations_bytes.value_or(0))}});
  }
  svgs.push_back(RenderSvg(bars));
  return svgs;
}

std::vector<std::string> SharePlots(const LatencyRecord& record) {
  std::map<std::pair<Group, int64_t>, std::map<int64_t, std::vector<PlotPoint>>> plots;
  const auto share_of = [&](int64_t variant, const latency::Point& point) -> std::optional<double> {
    for (const Measurement& m : record.measurements) {
      if (m.variant == variant && m.point == point) return OverallShare(m);
    }
    return std::nullopt;
  };
  for (const latency::SpeedUp& s : record.speed_ups) {
    const auto share = share_of(s.variant, s.point);
    if (!share || !(s.ratio > 0)) continue;
    plots[{{s.point.phase, s.point.batch}, s.baseline}][LengthOf(s.point)].push_back(
        {.x = *share, .y = s.ratio, .low = s.low, .high = s.high});
  }
  const bool ratios = !record.speed_ups.empty();
  for (const Measurement& m : record.measurements) {
    const auto share = OverallShare(m);
    if (ratios || !share || VariantOf(record, m.variant).role != "subject") continue;
    plots[{{m.point.phase, m.point.batch}, -1}][LengthOf(m.point)].push_back(
        {.x = *share, .y = m.summary.median, .low = m.summary.low, .high = m.summary.high});
  }
  std::vector<std::string> svgs;
  for (const auto& [key, lengths] : plots) {
    const auto& [group, baseline] = key;
    LinePlot plot;
    plot.title = ratios ? Title("speed-up against softmax share", group)
                        : Title("time against softmax share", group);
    plot.x = {.label = "chunks given to softmax attention", .format = NumberFormat::kPercent};
    plot.y = {.label = ratios ? "speed-up over " + VariantOf(record, baseline).label : "time",
              .format = ratios ? NumberFormat::kMultiple : NumberFormat::kSeconds,
              .low = 0.0};
    for (const auto& [length, points] : lengths) {
      if (points.size() < 2) continue;  // one share is no curve
      PlotSeries series{.name = fmt::format("{} tokens", latency::FormatLength(length)),
                        .points = points};
      std::sort(series.points.begin(), series.points.end(),
                [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
      plot.series.push_back(std::move(series));
    }
    if (ratios) plot.rules.push_back({.y = 1.0, .label = "as fast"});
    svgs.push_back(RenderSvg(plot));
  }
  return svgs;
}

std::vector<std::string> StepPlots(const LatencyRecord& record) {
  HistogramPlot plot;
  plot.x = {.label = "time of one step", .format = NumberFormat::kSeconds};
  std::vector<double> all;
  for (const Measurement* m : Longest(record, Phase::kDecode)) {
    if (m->steps.empty()) continue;
    plot.title = fmt::format("decoding steps at depth {}, batch {}",
                             latency::FormatLength(m->point.depth), m->point.batch);
    plot.series.push_back({VariantOf(record, m->variant).label, m->steps});
    all.insert(all.end(), m->steps.begin(), m->steps.end());
  }
  if (all.empty()) return {};
  // One hiccup would squeeze the rest into a single bin.
  std::sort(all.begin(), all.end());
  plot.x.high = all[all.size() - 1 - all.size() / 100];
  return {RenderSvg(plot)};
}

}  // namespace natsl::reports
