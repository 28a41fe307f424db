#include "reports/summary_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/console_table.h"
#include "reports/html_page.h"
#include "reports/latency_plots.h"
#include "reports/latency_text.h"
#include "reports/runs_shape.h"
#include "reports/svg_plot.h"

namespace natsl::reports {
namespace {

/// Scores of one task by length and run.
struct Curve {
  std::string task, metric;
  /// [length][run]; absent where a run hasn't it.
  std::map<int64_t, std::vector<const MetricRecord*>> points;
};

std::vector<Curve> CurvesOf(const std::vector<ReportedRun>& runs) {
  std::vector<Curve> curves;
  for (const std::string& name : TaskNames(runs)) {
    const NameAndLength split = SplitLength(name);
    if (!split.length) continue;
    for (size_t r = 0; r < runs.size(); ++r) {
      const TaskRecord* task = FindTask(runs[r].record, name);
      const MetricRecord* metric = task == nullptr ? nullptr : PrimaryMetric(*task);
      if (metric == nullptr || !metric->higher_is_better || !metric->value.value) continue;
      auto found = std::ranges::find(curves, split.base, &Curve::task);
      if (found == curves.end()) {
        curves.push_back({split.base, metric->name, {}});
        found = curves.end() - 1;
      }
      auto& row = found->points[*split.length];
      row.resize(runs.size(), nullptr);
      row[r] = metric;
    }
  }
  return curves;
}

/// A score as a share of 1, whatever the task's scale.
double Share(const MetricRecord& metric) {
  const double value = *metric.value.value;
  return metric.name == "score" ? value / 100 : value;
}

/// Mean over the curves that all runs have at `length`, a run each.
std::vector<double> MeansAt(const std::vector<Curve>& curves, int64_t length, size_t runs) {
  std::vector<double> means(runs, 0);
  int64_t count = 0;
  for (const Curve& curve : curves) {
    const auto row = curve.points.find(length);
    if (row == curve.points.end()) continue;
    if (std::ranges::count(row->second, nullptr) > 0) continue;
    ++count;
    for (size_t r = 0; r < runs; ++r) means[r] += Share(*row->second[r]);
  }
  if (count == 0) return {};
  for (double& mean : means) mean /= static_cast<double>(count);
  return means;
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string Tokens(int64_t count) {
  return FormatNumber(static_cast<double>(count), NumberFormat::kTokens);
}

/// The task with the most blocks of positions.
std::string LossTask(const std::vector<ReportedRun>& runs) {
  std::string best;
  size_t most = 0;
  for (const std::string& name : TaskNames(runs)) {
    for (const ReportedRun& run : runs) {
      const TaskRecord* task = FindTask(run.record, name);
      if (task != nullptr && LossByPosition(*task).size() > most) {
        most = LossByPosition(*task).size();
        best = name;
      }
    }
  }
  return best;
}

std::string LossSentence(const std::vector<ReportedRun>& runs) {
  const std::string name = LossTask(runs);
  if (name.empty()) return "";
  std::string text;
  int64_t begin = 0, end = 0;
  for (const ReportedRun& run : runs) {
    const TaskRecord* task = FindTask(run.record, name);
    if (task == nullptr) continue;
    const auto losses = LossByPosition(*task);
    if (losses.empty()) continue;
    begin = losses.back().begin;
    end = losses.back().end;
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", run.label, losses.back().loss);
  }
  return fmt::format("; language-model loss of tokens {} to {}: {}", Tokens(begin), Tokens(end),
                     text);
}

std::vector<std::string> Cells(const Curve& curve, size_t run) {
  std::vector<std::string> cells;
  for (const auto& [length, row] : curve.points) {
    const MetricRecord* metric = row[run];
    if (metric == nullptr) {
      cells.emplace_back("");
      continue;
    }
    std::string text = fmt::format("{:.2f}", Share(*metric));
    if (metric->low.value && metric->high.value) {
      const double scale = metric->name == "score" ? 100 : 1;
      text +=
          fmt::format(" ({:.2f}-{:.2f})", *metric->low.value / scale, *metric->high.value / scale);
    }
    cells.push_back(text);
  }
  return cells;
}

struct TextTable {
  std::string heading, note;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

std::vector<TextTable> Tables(const Summary& summary) {
  std::vector<TextTable> tables;
  for (const Curve& curve : CurvesOf(summary.runs)) {
    TextTable table;
    table.heading = curve.task;
    int64_t n = 0;
    table.header = {"Model"};
    for (const auto& [length, row] : curve.points) {
      table.header.push_back(Tokens(length));
      for (const MetricRecord* metric : row) n = metric == nullptr ? n : metric->n;
    }
    table.note = fmt::format("{} of {} documents a length, with its 95 % interval, by tokens.",
                             curve.metric, n);
    for (size_t r = 0; r < summary.runs.size(); ++r) {
      std::vector<std::string> row = Cells(curve, r);
      row.insert(row.begin(), summary.runs[r].label);
      table.rows.push_back(std::move(row));
    }
    tables.push_back(std::move(table));
  }
  if (const std::string name = LossTask(summary.runs); !name.empty()) {
    TextTable table;
    table.heading = "Language-model loss";
    table.note = "Nats a token by position in a window of text that no model was trained on.";
    table.header = {"Model"};
    for (const ReportedRun& run : summary.runs) {
      const TaskRecord* task = FindTask(run.record, name);
      if (task == nullptr) continue;
      std::vector<std::string> row = {run.label};
      const bool first = table.rows.empty();
      for (const PositionLoss& block : LossByPosition(*task)) {
        if (first) {
          table.header.push_back(Tokens(block.begin) + " to " + Tokens(block.end));
        }
        row.push_back(fmt::format("{:.3f}", block.loss));
      }
      row.resize(table.header.size());
      table.rows.push_back(std::move(row));
    }
    tables.push_back(std::move(table));
  }
  if (summary.latency) {
    const LatencyTable times = TimesTable(*summary.latency);
    TextTable table;
    table.heading = "Speed on this machine";
    table.note = "Medians; latency.html in the latency run's folder has all of it.";
    table.header = times.header;
    for (const auto& row : times.rows) {
      std::vector<std::string> cells;
      for (const LatencyCell& cell : row) cells.push_back(cell.text);
      table.rows.push_back(std::move(cells));
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string CurvePlot(const Curve& curve, const std::vector<ReportedRun>& runs) {
  LinePlot plot;
  plot.title = curve.task;
  plot.x = {.label = "tokens", .scale = AxisScale::kLog2, .format = NumberFormat::kTokens};
  plot.y = {.label = curve.metric, .low = 0, .high = 1};
  for (size_t r = 0; r < runs.size(); ++r) {
    PlotSeries series{.name = runs[r].label};
    for (const auto& [length, row] : curve.points) {
      if (row[r] == nullptr) continue;
      PlotPoint point{.x = static_cast<double>(length), .y = Share(*row[r])};
      const double scale = row[r]->name == "score" ? 100 : 1;
      if (row[r]->low.value) point.low = *row[r]->low.value / scale;
      if (row[r]->high.value) point.high = *row[r]->high.value / scale;
      series.points.push_back(point);
    }
    plot.series.push_back(std::move(series));
  }
  return RenderSvg(plot);
}

std::string LossPlot(const std::vector<ReportedRun>& runs) {
  const std::string name = LossTask(runs);
  LinePlot plot;
  plot.title = "language-model loss by position";
  plot.x = {.label = "tokens", .format = NumberFormat::kTokens};
  plot.y = {.label = "nats a token"};
  for (const ReportedRun& run : runs) {
    const TaskRecord* task = FindTask(run.record, name);
    if (task == nullptr) continue;
    PlotSeries series{.name = run.label};
    for (const PositionLoss& block : LossByPosition(*task)) {
      series.points.push_back({.x = static_cast<double>(block.end), .y = block.loss});
    }
    plot.series.push_back(std::move(series));
  }
  return RenderSvg(plot);
}

}  // namespace

std::string Finding(const std::vector<ReportedRun>& runs) {
  const std::vector<Curve> curves = CurvesOf(runs);
  std::set<int64_t> lengths;
  for (const Curve& curve : curves) {
    for (const auto& [length, row] : curve.points) {
      if (!MeansAt({curve}, length, runs.size()).empty()) lengths.insert(length);
    }
  }
  if (lengths.empty()) {
    return "Nothing to compare: no task was run by all models at a length in tokens.";
  }
  const int64_t shortest = *lengths.begin(), longest = *lengths.rbegin();
  const auto first = MeansAt(curves, shortest, runs.size());
  const auto last = MeansAt(curves, longest, runs.size());
  const auto best = static_cast<size_t>(std::ranges::max_element(last) - last.begin());
  std::string changes;
  for (size_t r = 0; r < runs.size(); ++r) {
    changes += fmt::format("{}{} {} to {}", r == 0 ? "" : ", ", runs[r].label, Percent(first[r]),
                           Percent(last[r]));
  }
  const std::string verdict =
      last[best] < 0.05 ? fmt::format("no model finds what it was told at {}", Tokens(longest))
                        : fmt::format("{} keeps most at {} ({})", runs[best].label, Tokens(longest),
                                      Percent(last[best]));
  return fmt::format("From {} to {} tokens {}; mean score of the recall tasks: {}{}.",
                     Tokens(shortest), Tokens(longest), verdict, changes, LossSentence(runs));
}

std::string SummaryMarkdown(const Summary& summary) {
  std::string text = fmt::format("# {}\n\n{}\n", summary.title, Finding(summary.runs));
  for (const TextTable& table : Tables(summary)) {
    text += fmt::format("\n## {}\n\n{}\n\n{}", table.heading, table.note,
                        MarkdownTable(table.header, table.rows));
  }
  return text;
}

std::string SummaryHtml(const Summary& summary) {
  HtmlPage page(summary.title);
  page.Paragraph(Finding(summary.runs));
  page.Section("Recall and loss");
  std::vector<std::string> plots;
  for (const Curve& curve : CurvesOf(summary.runs)) plots.push_back(CurvePlot(curve, summary.runs));
  plots.push_back(LossPlot(summary.runs));
  page.Plots(plots);
  if (summary.latency) {
    page.Section("Speed");
    page.Plots(LengthPlots(*summary.latency));
    page.Plots(DecodePlots(*summary.latency));
    page.Plots(MemoryPlots(*summary.latency));
  }
  for (const TextTable& table : Tables(summary)) {
    page.Section(table.heading);
    page.Paragraph(table.note);
    HtmlTable html;
    for (const std::string& title : table.header) html.columns.emplace_back(title);
    for (const auto& row : table.rows) html.rows.emplace_back(row.begin(), row.end());
    page.Table(html);
  }
  return page.Render("natsl-bench study summary");
}

}  // namespace natsl::reports
