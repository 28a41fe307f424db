// The HTML page.
#include "reports/runs_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/html_page.h"
#include "reports/runs_plots.h"
#include "reports/runs_shape.h"
#include "reports/softmax_use.h"

namespace natsl::reports {
namespace {

using Runs = std::vector<ReportedRun>;

/// "piqa: ..." with the run in front where there are several.
std::string Of(const Runs& runs, const ReportedRun& run, const std::string& line) {
  return runs.size() == 1 ? line : run.label + ": " + line;
}

void AddWarnings(const Runs& runs, HtmlPage& page) {
  bool any = false;
  const auto begin = [&] {
    if (!any) page.Section("Warnings");
    any = true;
  };
  for (const ReportedRun& run : runs) {
    int64_t failed = 0, truncated = 0, requests = 0;
    for (const TaskRecord& task : run.record.tasks) {
      failed += task.counts.failed_documents;
      truncated += task.counts.truncated_requests;
      requests += task.counts.requests;
    }
    if (failed > 0) {
      begin();
      page.Note(NoteKind::kBad, Of(runs, run, fmt::format("{} documents have no score", failed)));
    }
    if (truncated > 0) {
      begin();
      page.Note(
          NoteKind::kWarning,
          Of(runs, run, fmt::format("{} of {} requests were truncated", truncated, requests)));
    }
    for (const std::string& line : Warnings(run.record)) {
      begin();
      page.Note(NoteKind::kWarning, Of(runs, run, line));
    }
    if (const std::string line = Subsets(run.record); !line.empty()) {
      begin();
      page.Note(NoteKind::kInfo, Of(runs, run, line));
    }
  }
}

HtmlCell Value(const Number& number, int decimals = 4) {
  if (!number.value) {
    HtmlCell cell("–", std::nullopt, "quiet");
    cell.tip = number.reason;
    return cell;
  }
  // A perplexity of millions says nothing by its decimals.
  constexpr double kLarge = 1e6;
  const double value = *number.value;
  return {std::abs(value) < kLarge ? fmt::format("{:.{}f}", value, decimals)
                                   : fmt::format("{:.4g}", value),
          value};
}

HtmlCell Interval(const MetricRecord& metric) {
  if (!metric.low.value || !metric.high.value) return {"", std::nullopt, "quiet"};
  HtmlCell cell(Value(metric.low).text + " to " + Value(metric.high).text, *metric.low.value,
                "quiet");
  cell.tip = metric.interval_method;
  return cell;
}

/// Columns of a results table after the names: n, value, error, interval; or a value ± error a run.
std::vector<HtmlColumn> ValueColumns(const Runs& runs) {
  if (runs.size() == 1) {
    return {{"n", true}, {"Value", true}, {"Stderr", true}, {"95 % interval", true}};
  }
  std::vector<HtmlColumn> columns;
  for (const ReportedRun& run : runs) {
    columns.emplace_back(run.label, true);
    columns.emplace_back("±", true, "standard error");
  }
  return columns;
}

void AddValues(const Runs& runs, const std::vector<const MetricRecord*>& metrics,
               std::vector<HtmlCell>& row) {
  if (runs.size() == 1) {
    const MetricRecord& metric = *metrics.front();
    row.emplace_back(fmt::format("{}", metric.n), static_cast<double>(metric.n));
    row.push_back(Value(metric.value));
    row.push_back(Value(metric.standard_error));
    row.push_back(Interval(metric));
    return;
  }
  for (const MetricRecord* metric : metrics) {
    row.push_back(metric == nullptr ? HtmlCell("", std::nullopt) : Value(metric->value));
    row.push_back(metric == nullptr ? HtmlCell("", std::nullopt) : Value(metric->standard_error));
  }
}

HtmlTable ResultsTable(const Runs& runs, bool curves) {
  HtmlTable table;
  table.columns = {"Task", "Metric", HtmlColumn("", false, "which way is better")};
  for (HtmlColumn& column : ValueColumns(runs)) table.columns.push_back(std::move(column));
  for (const std::string& name : TaskNames(runs)) {
    for (const auto& [metric_name, filter] : MetricNames(runs, name)) {
      if (IsCurvePoint(metric_name) != curves) continue;
      std::vector<const MetricRecord*> metrics;
      const MetricRecord* any = nullptr;
      for (const ReportedRun& run : runs) {
        const TaskRecord* task = FindTask(run.record, name);
        metrics.push_back(task == nullptr ? nullptr : FindMetric(*task, metric_name, filter));
        if (metrics.back() != nullptr) any = metrics.back();
      }
      std::vector<HtmlCell> row = {
          HtmlCell(name, std::nullopt),
          HtmlCell(filter == "none" ? metric_name : metric_name + " (" + filter + ")",
                   std::nullopt),
          any->higher_is_better ? "↑" : "↓"};
      AddValues(runs, metrics, row);
      table.rows.push_back(std::move(row));
    }
  }
  table.filter = table.rows.size() > 12;
  return table;
}

HtmlTable GroupsTable(const Runs& runs) {
  HtmlTable table;
  table.columns = {"Group", "Metric"};
  for (HtmlColumn& column : ValueColumns(runs)) table.columns.push_back(std::move(column));
  std::vector<std::pair<std::string, std::string>> keys;
  for (const ReportedRun& run : runs) {
    for (const GroupRecord& group : run.record.groups) {
      for (const MetricRecord& metric : group.metrics) {
        const std::pair key(group.name, metric.name);
        if (group.aggregate && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
    }
  }
  for (const auto& [group_name, metric_name] : keys) {
    std::vector<const MetricRecord*> metrics(runs.size(), nullptr);
    for (size_t r = 0; r < runs.size(); ++r) {
      for (const GroupRecord& group : runs[r].record.groups) {
        for (const MetricRecord& metric : group.metrics) {
          if (group.name == group_name && metric.name == metric_name) metrics[r] = &metric;
        }
      }
    }
    std::vector<HtmlCell> row = {group_name, metric_name};
    AddValues(runs, metrics, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ShortHash(const std::string& hash) { return hash.substr(0, 12); }

HtmlCell Hash(const std::string& hash) {
  HtmlCell cell(hash.empty() ? "none" : ShortHash(hash), std::nullopt, "code");
  cell.tip = hash;
  return cell;
}

std::string Ids(const FirstRequest& request) {
  if (request.ids == 0) return "";
  const bool all = request.ids <= 8;
  return all ? fmt::format("{}", fmt::join(request.first, " "))
             : fmt::format("{} … {} ({} ids)", fmt::join(request.first, " "),
                           fmt::join(request.last, " "), request.ids);
}

/// A row for each task and run that has it: `cells` fills it behind the names.
template <typename Cells>
HtmlTable TaskRows(const Runs& runs, const std::vector<HtmlColumn>& columns, Cells&& cells) {
  HtmlTable table;
  table.columns = {"Task"};
  if (runs.size() > 1) table.columns.emplace_back("Run");
  table.columns.insert(table.columns.end(), columns.begin(), columns.end());
  for (const std::string& name : TaskNames(runs)) {
    for (const ReportedRun& run : runs) {
      const TaskRecord* task = FindTask(run.record, name);
      if (task == nullptr) continue;
      std::vector<HtmlCell> row = {HtmlCell(name, std::nullopt)};
      if (runs.size() > 1) row.emplace_back(run.label);
      cells(*task, row);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

HtmlTable CountsTable(const Runs& runs) {
  const bool nats =
      std::ranges::any_of(runs, [](const ReportedRun& run) { return run.record.softmax.known(); });
  std::vector<HtmlColumn> columns = {{"Documents", true}, {"of", true},        {"Requests", true},
                                     {"Tokens", true},    {"Truncated", true}, {"Few-shot", true}};
  if (nats) columns.emplace_back("Softmax share", true);
  columns.emplace_back("Dataset");
  return TaskRows(runs, columns, [nats](const TaskRecord& task, std::vector<HtmlCell>& row) {
    const auto add = [&](int64_t value) {
      row.emplace_back(fmt::format("{}", value), static_cast<double>(value));
    };
    const RequestCounts& counts = task.counts;
    const double share = counts.requests == 0 ? 0
                                              : static_cast<double>(counts.truncated_requests) /
                                                    static_cast<double>(counts.requests);
    add(task.evaluated);
    add(task.documents);
    add(counts.requests);
    add(counts.context_tokens + counts.output_tokens);
    row.emplace_back(fmt::format("{:.1f} %", 100 * share), share, share > 0 ? "warn" : "");
    add(task.num_fewshot);
    if (nats && task.softmax.known()) {
      row.emplace_back(SoftmaxShareText(task.softmax), SoftmaxShare(task.softmax).value);
    } else if (nats) {
      row.emplace_back("", std::nullopt);
    }
    row.emplace_back(task.split.empty() ? task.dataset : task.dataset + ", " + task.split);
  });
}

HtmlTable SourcesTable(const Runs& runs) {
  const std::vector<HtmlColumn> columns = {"Protocol", "Version", "Data SHA-256", "Prompts SHA-256",
                                           "First request's ids"};
  return TaskRows(runs, columns, [](const TaskRecord& task, std::vector<HtmlCell>& row) {
    row.emplace_back(task.protocol);
    row.emplace_back(task.version_json);
    row.push_back(Hash(task.data_sha256));
    row.push_back(Hash(task.prompts_sha256));
    row.emplace_back(Ids(task.first_request), std::nullopt, "code");
  });
}

/// A property a row, a run a column.
class Properties {
 public:
  explicit Properties(size_t runs) : runs_(runs) {}
  void Set(const std::string& name, size_t run, HtmlCell value) {
    auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      names_.push_back(name);
      cells_.emplace_back(runs_, HtmlCell("", std::nullopt));
      found = names_.end() - 1;
    }
    cells_[static_cast<size_t>(found - names_.begin())][run] = std::move(value);
  }
  HtmlTable Table(const Runs& runs) const {
    HtmlTable table;
    table.columns = {HtmlColumn("")};
    for (const ReportedRun& run : runs) table.columns.emplace_back(run.label);
    if (runs.size() == 1) table.columns.back() = HtmlColumn("Value");
    for (size_t i = 0; i < names_.size(); ++i) {
      std::vector<HtmlCell> row = {HtmlCell(names_[i], std::nullopt)};
      row.insert(row.end(), cells_[i].begin(), cells_[i].end());
      table.rows.push_back(std::move(row));
    }
    table.sortable = false;
    return table;
  }
  bool empty() const { return names_.empty(); }

 private:
  size_t runs_;
  std::vector<std::string> names_;
  std::vector<std::vector<HtmlCell>> cells_;
};

void AddModels(const Runs& runs, HtmlPage& page) {
  Properties models(runs.size()), settings(runs.size());
  for (size_t r = 0; r < runs.size(); ++r) {
    const ModelRecord& model = runs[r].record.model;
    models.Set("model", r, model.name);
    models.Set("family", r, model.family);
    models.Set("parameters", r, fmt::format("{}", model.parameters));
    models.Set("dtype", r, model.dtype);
    models.Set("device", r, model.device);
    models.Set("longest input (tokens)", r, fmt::format("{}", model.max_length));
    models.Set("vocabulary", r, fmt::format("{}", model.vocabulary));
    models.Set("weights SHA-256", r, Hash(model.weights_fingerprint));
    models.Set("tokenizer SHA-256", r, Hash(model.tokenizer_fingerprint));
    for (const auto& [name, value] : SoftmaxRows(runs[r].record.softmax))
      models.Set(name, r, value);
    for (const auto& [name, value] : model.settings) models.Set(name, r, value);
    for (const auto& [name, value] : runs[r].record.versions) {
      models.Set("version of " + name, r, value);
    }
    for (const Setting& setting : runs[r].record.settings) {
      HtmlCell cell(setting.value_json + " (" + setting.origin + ")", std::nullopt,
                    setting.origin == "default" ? "quiet" : "");
      settings.Set("--" + setting.name, r, std::move(cell));
    }
  }
  page.Section(runs.size() == 1 ? "Model" : "Models");
  page.Table(models.Table(runs));
  page.Section("Settings");
  page.Paragraph("The value that was in force, and where it came from: flag, file or default.");
  page.Table(settings.Table(runs));
}

std::string Seconds(int64_t ns) { return fmt::format("{:.2f} s", static_cast<double>(ns) * 1e-9); }

void AddExecution(const Runs& runs, HtmlPage& page) {
  Properties rows(runs.size());
  for (size_t r = 0; r < runs.size(); ++r) {
    if (!runs[r].execution) continue;
    const ExecutionRecord& execution = *runs[r].execution;
    rows.Set("started", r, execution.started_utc);
    rows.Set("host", r, execution.host);
    rows.Set("processes", r, fmt::format("{}", execution.processes));
    rows.Set("threads", r, fmt::format("{}", execution.threads));
    for (const ExecutionRecord::Phase& phase : execution.phases) {
      rows.Set("wall time: " + phase.name, r, Seconds(phase.ns));
    }
    rows.Set("batches", r, fmt::format("{}", execution.batches));
    rows.Set("tokens computed", r, fmt::format("{}", execution.computed_tokens));
    for (const ExecutionRecord::TaskShare& share : execution.tasks) {
      rows.Set("answers from the cache: " + share.task, r,
               fmt::format("{} of {}", share.cached, share.requests));
    }
  }
  if (rows.empty()) return;
  page.Section("Execution");
  page.Paragraph("Of the last start: what a resumed run had answered before is not in it.");
  page.Table(rows.Table(runs));
}

void AddFigures(const Runs& runs, HtmlPage& page) {
  if (runs.size() != 1) return;
  int64_t documents = 0, requests = 0, tokens = 0, truncated = 0;
  for (const TaskRecord& task : runs[0].record.tasks) {
    documents += task.evaluated;
    requests += task.counts.requests;
    tokens += task.counts.context_tokens + task.counts.output_tokens;
    truncated += task.counts.truncated_requests;
  }
  page.Figures({{"tasks", fmt::format("{}", runs[0].record.tasks.size())},
                {"documents", fmt::format("{}", documents)},
                {"requests", fmt::format("{}", requests)},
                {"tokens", fmt::format("{}", tokens)},
                {"truncated requests",
                 fmt::format("{:.1f} %", requests == 0 ? 0.0
                                                       : 100.0 * static_cast<double>(truncated) /
                                                             static_cast<double>(requests))}});
}

void AddPlots(HtmlPage& page, const char* heading, const std::vector<std::string>& plots,
              const char* explanation) {
  if (plots.empty()) return;
  page.Section(heading);
  page.Paragraph(explanation);
  page.Plots(plots);
}

}  // namespace

void LabelRuns(std::vector<ReportedRun>& runs) {
  const auto last = [](const std::string& path) {
    const size_t end = path.find_last_not_of('/');
    const size_t slash = path.find_last_of('/', end);
    return path.substr(slash + 1, end - slash);
  };
  const auto label_by = [&](auto&& name) {
    std::set<std::string> names;
    for (const ReportedRun& run : runs) names.insert(name(run));
    if (names.size() < runs.size()) return false;
    for (ReportedRun& run : runs) run.label = name(run);
    return true;
  };
  // The shortest that tells them apart; else their folders as they were given.
  if (!label_by([&](const ReportedRun& run) { return last(run.record.model.name); })) {
    label_by([&](const ReportedRun& run) { return last(run.label); });
  }
}

std::string RunsHtml(const std::vector<ReportedRun>& runs) {
  HtmlPage page(runs.size() == 1 ? runs[0].record.model.name
                                 : fmt::format("{} runs side by side", runs.size()));
  AddWarnings(runs, page);
  page.Section("Results");
  AddFigures(runs, page);
  page.Plots(ScorePlots(runs));
  page.Table(ResultsTable(runs, /*curves=*/false));
  if (const HtmlTable groups = GroupsTable(runs); !groups.rows.empty()) {
    page.Subheading("Groups");
    page.Table(groups);
  }
  AddPlots(page, "Score by length", LengthPlots(runs),
           "Each point is a task at one length; bars are 95 % intervals.");
  AddPlots(page, "Loss by position", PositionPlots(runs),
           "Negative log-likelihood of a block of positions (solid) and of all tokens up to there "
           "(dashed), in nats a token.");
  AddPlots(page, "LongBench by length of the document", BucketPlots(runs),
           "Scores of LongBench-E's buckets; bars are 95 % intervals.");
  if (const HtmlTable points = ResultsTable(runs, /*curves=*/true); !points.rows.empty()) {
    page.Details("The points of these curves", RenderHtml(points));
  }
  page.Section("Tasks");
  page.Table(CountsTable(runs));
  page.Table(SourcesTable(runs));
  std::vector<std::string> deviations;
  for (const std::string& name : TaskNames(runs)) {
    for (const ReportedRun& run : runs) {
      const TaskRecord* task = FindTask(run.record, name);
      if (task == nullptr) continue;
      for (const std::string& deviation : task->deviations) {
        std::string line = name + " differs from its protocol: " + deviation;
        if (std::ranges::find(deviations, line) == deviations.end()) {
          deviations.push_back(std::move(line));
        }
      }
    }
  }
  if (!deviations.empty()) page.List(deviations);
  AddModels(runs, page);
  AddExecution(runs, page);
  return page.Render("natsl-bench " + runs[0].record.program_version);
}

}  // namespace natsl::reports
