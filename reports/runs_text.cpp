// The same report as Markdown and JSON.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "reports/console_table.h"
#include "reports/results_json.h"
#include "reports/run_markdown.h"
#include "reports/runs_page.h"
#include "reports/runs_shape.h"
#include "reports/softmax_use.h"

namespace natsl::reports {
namespace {

using Runs = std::vector<ReportedRun>;

/// Text that doesn't end a table cell.
std::string Cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.replace(at, 1, "\\|");
  }
  return text;
}

std::vector<std::string> Header(const Runs& runs, std::vector<std::string> first) {
  for (const ReportedRun& run : runs) first.push_back(Cell(run.label));
  return first;
}

std::string ValueText(const MetricRecord* metric) {
  if (metric == nullptr) return "";
  if (!metric->value.value) return "none: " + Cell(metric->value.reason);
  if (!metric->standard_error.value) return fmt::format("{:.4f}", *metric->value.value);
  return fmt::format("{:.4f} ± {:.4f}", *metric->value.value, *metric->standard_error.value);
}

std::string Execution(const Runs& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const ReportedRun& run : runs) {
    if (!run.execution) continue;
    const ExecutionRecord& execution = *run.execution;
    std::string phases;
    for (const ExecutionRecord::Phase& phase : execution.phases) {
      phases += fmt::format("{}{} {:.2f} s", phases.empty() ? "" : ", ", phase.name,
                            static_cast<double>(phase.ns) * 1e-9);
    }
    int64_t requests = 0, cached = 0;
    for (const ExecutionRecord::TaskShare& share : execution.tasks) {
      requests += share.requests;
      cached += share.cached;
    }
    rows.push_back({Cell(run.label), execution.started_utc, Cell(execution.host),
                    fmt::format("{}", execution.processes), fmt::format("{}", execution.threads),
                    phases, fmt::format("{} of {}", cached, requests)});
  }
  if (rows.empty()) return "";
  return "\n## Execution\n\n" +
         MarkdownTable({"Run", "Started", "Host", "Processes", "Threads", "Wall time", "Cached"},
                       rows);
}

}  // namespace

std::string RunsMarkdown(const std::vector<ReportedRun>& runs) {
  if (runs.size() == 1) return RunMarkdown(runs[0].record) + Execution(runs);
  std::string out = fmt::format("# {} runs side by side\n\n", runs.size());
  std::string warnings;
  for (const ReportedRun& run : runs) {
    for (const std::string& line : Warnings(run.record)) {
      warnings += fmt::format("- {}: {}\n", run.label, line);
    }
    if (const std::string line = Subsets(run.record); !line.empty()) {
      warnings += fmt::format("- {}: {}\n", run.label, line);
    }
  }
  if (!warnings.empty()) out += "## Warnings\n\n" + warnings + "\n";
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : TaskNames(runs)) {
    for (const auto& [metric, filter] : MetricNames(runs, name)) {
      std::vector<std::string> row = {name, metric, filter};
      for (const ReportedRun& run : runs) {
        const TaskRecord* task = FindTask(run.record, name);
        row.push_back(ValueText(task == nullptr ? nullptr : FindMetric(*task, metric, filter)));
      }
      rows.push_back(std::move(row));
    }
  }
  out += "## Results\n\n" + MarkdownTable(Header(runs, {"Task", "Metric", "Filter"}), rows);
  rows.clear();
  const auto add = [&](const char* name, auto&& value) {
    std::vector<std::string> row = {name};
    for (const ReportedRun& run : runs) row.push_back(Cell(value(run.record.model)));
    rows.push_back(std::move(row));
  };
  add("model", [](const ModelRecord& model) { return model.name; });
  add("family", [](const ModelRecord& model) { return model.family; });
  add("parameters", [](const ModelRecord& model) { return fmt::format("{}", model.parameters); });
  add("dtype", [](const ModelRecord& model) { return model.dtype; });
  add("device", [](const ModelRecord& model) { return model.device; });
  if (std::ranges::any_of(runs, [](const auto& run) { return run.record.softmax.known(); })) {
    std::vector<std::string> row = {"softmax share (NAtS-L)"};
    for (const ReportedRun& run : runs) {
      const SoftmaxUse& use = run.record.softmax;
      row.push_back(use.known() ? Cell(SoftmaxShareText(use)) : "");
    }
    rows.push_back(std::move(row));
  }
  add("weights SHA-256", [](const ModelRecord& model) { return model.weights_fingerprint; });
  add("tokenizer SHA-256", [](const ModelRecord& model) { return model.tokenizer_fingerprint; });
  return out + "\n## Models\n\n" + MarkdownTable(Header(runs, {""}), rows) + Execution(runs);
}

std::string RunsJson(const std::vector<ReportedRun>& runs) {
  core::Json json;
  json["schema"] = kRunRecordVersion;
  json["runs"] = core::Json::array();
  for (const ReportedRun& run : runs) {
    core::Json entry;
    entry["label"] = run.label;
    entry["record"] = RecordJson(run.record);
    entry["execution"] = run.execution ? ExecutionJson(*run.execution) : core::Json(nullptr);
    json["runs"].push_back(std::move(entry));
  }
  return core::PythonJson(json, 2) + "\n";
}

}  // namespace natsl::reports
