#include "reports/runs_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/cast.h"
#include "reports/runs_shape.h"
#include "reports/svg_plot.h"

namespace natsl::reports {
namespace {

constexpr int kColours = 8;

int ColourOf(size_t run) { return static_cast<int>(run) % kColours; }

/// Tokens without a name, where there is one run only.
std::string NameOf(const std::vector<ReportedRun>& runs, size_t run) {
  return runs.size() == 1 ? "" : runs[run].label;
}

void AddInterval(const MetricRecord& metric, std::optional<double>& low,
                 std::optional<double>& high) {
  low = metric.low.value;
  high = metric.high.value;
}

/// A task's share of a plot over lengths: score by length.
using ByLength = std::map<int64_t, PlotPoint>;

/// base name → [run] → points.
std::map<std::string, std::vector<ByLength>> CollectLengths(const std::vector<ReportedRun>& runs) {
  std::map<std::string, std::vector<ByLength>> tasks;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const TaskRecord& task : runs[run].record.tasks) {
      const NameAndLength name = SplitLength(task.name);
      const MetricRecord* metric = PrimaryMetric(task);
      // Loss by position has a plot of its own.
      if (!name.length || metric == nullptr || !metric->value.value ||
          !LossByPosition(task).empty()) {
        continue;
      }
      auto& lines = tasks[name.base];
      lines.resize(runs.size());
      PlotPoint& point = lines[run][*name.length];
      point.x = static_cast<double>(*name.length);
      point.y = *metric->value.value;
      AddInterval(*metric, point.low, point.high);
    }
  }
  return tasks;
}

LinePlot LengthPlot(const std::string& title, const std::vector<ReportedRun>& runs,
                    const std::vector<ByLength>& lines) {
  LinePlot plot;
  plot.title = title;
  plot.x = {"length (tokens)", AxisScale::kLog2, NumberFormat::kTokens};
  plot.y.label = "score";
  double highest = 0;
  for (size_t run = 0; run < lines.size(); ++run) {
    PlotSeries series{NameOf(runs, run)};
    series.colour = ColourOf(run);
    for (const auto& [length, point] : lines[run]) {
      series.points.push_back(point);
      highest = std::max(highest, point.y);
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  plot.y.low = 0;
  plot.y.high = highest <= 1 ? 1 : 100;
  return plot;
}

/// The mean over tasks at the lengths that all of a run's tasks have.
std::vector<ByLength> MeanOverTasks(const std::map<std::string, std::vector<ByLength>>& tasks,
                                    size_t runs) {
  std::vector<ByLength> means(runs);
  for (size_t run = 0; run < runs; ++run) {
    std::map<int64_t, std::pair<double, int64_t>> sums;
    int64_t count = 0;
    for (const auto& [base, lines] : tasks) {
      count += lines[run].empty() ? 0 : 1;
      for (const auto& [length, point] : lines[run]) {
        sums[length].first += point.y;
        ++sums[length].second;
      }
    }
    for (const auto& [length, sum] : sums) {
      if (sum.second != count) continue;
      means[run][length] = {static_cast<double>(length),
                            sum.first / static_cast<double>(sum.second)};
    }
  }
  return means;
}

PlotSeries LossSeries(const std::string& name, const std::vector<PositionLoss>& losses, size_t run,
                      bool cumulative) {
  PlotSeries series{name};
  series.colour = ColourOf(run);
  series.markers = losses.size() <= 32;
  series.dashed = cumulative;
  for (const PositionLoss& loss : losses) {
    PlotPoint point{static_cast<double>(loss.end), loss.loss};
    if (!cumulative && loss.error) {
      point.low = loss.loss - kNormal95 * *loss.error;
      point.high = loss.loss + kNormal95 * *loss.error;
    }
    point.tip = fmt::format("{}: tokens {} to {}: {:.4f} nats a token",
                            name.empty() ? "loss" : name, loss.begin, loss.end, loss.loss);
    series.points.push_back(std::move(point));
  }
  series.band = series.points.size() > 32;
  return series;
}

}  // namespace

std::vector<std::string> ScorePlots(const std::vector<ReportedRun>& runs) {
  BarPlot fractions, others;
  fractions.title = "Scores (0 to 1), 95 % intervals";
  others.title = "Scores, 95 % intervals";
  fractions.value.low = 0;
  fractions.value.high = 1;
  for (const std::string& name : TaskNames(runs)) {
    if (SplitLength(name).length) continue;  // drawn over the length
    for (size_t run = 0; run < runs.size(); ++run) {
      const TaskRecord* task = FindTask(runs[run].record, name);
      const MetricRecord* metric = task == nullptr ? nullptr : PrimaryMetric(*task);
      if (metric == nullptr || !metric->higher_is_better || !metric->value.value) continue;
      BarPlot::Bar bar{name + " " + metric->name, *metric->value.value};
      bar.series = NameOf(runs, run);
      AddInterval(*metric, bar.low, bar.high);
      bar.colour = ColourOf(run);
      (bar.value <= 1 ? fractions : others).bars.push_back(std::move(bar));
    }
  }
  std::vector<std::string> plots;
  for (BarPlot* plot : {&fractions, &others}) {
    if (plot->bars.empty()) continue;
    if (plot == &fractions) {
      for (BarPlot::Bar& bar : plot->bars) {
        if (bar.low) bar.low = std::max(0.0, *bar.low);
        if (bar.high) bar.high = std::min(1.0, *bar.high);
      }
    }
    plots.push_back(RenderSvg(*plot));
  }
  return plots;
}

std::vector<std::string> LengthPlots(const std::vector<ReportedRun>& runs) {
  const auto tasks = CollectLengths(runs);
  std::vector<std::string> plots;
  if (tasks.size() > 1) {
    plots.push_back(
        RenderSvg(LengthPlot("Mean over tasks", runs, MeanOverTasks(tasks, runs.size()))));
  }
  for (const auto& [base, lines] : tasks) {
    plots.push_back(RenderSvg(LengthPlot(base, runs, lines)));
  }
  return plots;
}

std::vector<std::string> PositionPlots(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> plots;
  for (const std::string& name : TaskNames(runs)) {
    LinePlot plot;
    plot.title = name;
    plot.x = {"position (tokens)", AxisScale::kLinear, NumberFormat::kTokens};
    plot.y.label = "loss (nats a token)";
    for (size_t run = 0; run < runs.size(); ++run) {
      const TaskRecord* task = FindTask(runs[run].record, name);
      if (task == nullptr) continue;
      const std::string label = NameOf(runs, run);
      const auto blocks = LossByPosition(*task), cumulative = CumulativeLoss(*task);
      if (!blocks.empty()) {
        plot.series.push_back(
            LossSeries(label.empty() ? "by block" : label, blocks, run, /*cumulative=*/false));
      }
      if (!cumulative.empty()) {
        plot.series.push_back(LossSeries(label.empty() ? "up to here" : label + ", up to here",
                                         cumulative, run, /*cumulative=*/true));
      }
    }
    if (!plot.series.empty()) plots.push_back(RenderSvg(plot));
  }
  return plots;
}

std::vector<std::string> BucketPlots(const std::vector<ReportedRun>& runs) {
  std::vector<std::string> plots;
  for (const std::string& name : TaskNames(runs)) {
    BarPlot plot;
    plot.title = name;
    for (const std::string& bucket : kLengthBuckets) {
      for (size_t run = 0; run < runs.size(); ++run) {
        const TaskRecord* task = FindTask(runs[run].record, name);
        const MetricRecord* metric =
            task == nullptr ? nullptr : FindMetric(*task, "score_" + bucket, "none");
        if (metric == nullptr || !metric->value.value) continue;
        BarPlot::Bar bar{bucket, *metric->value.value};
        bar.series = NameOf(runs, run);
        AddInterval(*metric, bar.low, bar.high);
        bar.colour = ColourOf(run);
        plot.bars.push_back(std::move(bar));
      }
    }
    if (!plot.bars.empty()) plots.push_back(RenderSvg(plot));
  }
  return plots;
}

}  // namespace natsl::reports
