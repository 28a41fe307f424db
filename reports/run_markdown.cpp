#include "reports/run_markdown.h"

#include <fmt/format.h>

#include "reports/console_table.h"
#include "reports/softmax_use.h"

namespace natsl::reports {
namespace {

std::string HashText(const std::string& hash) { return hash.empty() ? "none" : hash.substr(0, 16); }

std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "0 %";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// Text that doesn't end a table cell or a line.
std::string Cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

std::string WarningsText(const RunRecord& record) {
  std::string out;
  for (const std::string& warning : record.warnings) out += fmt::format("- {}\n", warning);
  for (const TaskRecord& task : record.tasks) {
    if (!task.subset.empty()) {
      out += fmt::format("- **SUBSET** {}: {} documents\n", task.name, task.subset);
    }
    for (const std::string& warning : task.warnings) {
      out += fmt::format("- {}: {}\n", task.name, warning);
    }
    for (const MetricRecord& metric : task.metrics) {
      if (!metric.value.value) {
        out +=
            fmt::format("- {}: {} has no value: {}\n", task.name, metric.name, metric.value.reason);
      }
    }
  }
  return out.empty() ? "" : "## Warnings\n\n" + out + "\n";
}

std::string TaskTable(const RunRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const TaskRecord& task : record.tasks) {
    const RequestCounts& counts = task.counts;
    rows.push_back({task.name, fmt::format("{} of {}", task.evaluated, task.documents),
                    fmt::format("{}", counts.requests),
                    fmt::format("{}", counts.context_tokens + counts.output_tokens),
                    Percent(counts.truncated_requests, counts.requests), Cell(task.dataset),
                    Cell(task.split), HashText(task.data_sha256), Cell(task.protocol)});
    if (record.softmax.known()) rows.back().push_back(Cell(SoftmaxShareText(task.softmax)));
  }
  std::vector<std::string> header = {"Task",    "Documents", "Requests",     "Tokens",  "Truncated",
                                     "Dataset", "Split",     "Data SHA-256", "Protocol"};
  if (record.softmax.known()) header.emplace_back("Softmax share");
  return MarkdownTable(header, rows);
}

}  // namespace

std::string RunMarkdown(const RunRecord& record) {
  const ModelRecord& model = record.model;
  std::string out = fmt::format("# {}\n\n", model.name);
  out += WarningsText(record);
  out += "## Results\n\n" + ConsoleTable(record) + "\n";
  out += "## Tasks\n\n" + TaskTable(record) + "\n";
  for (const TaskRecord& task : record.tasks) {
    for (const std::string& deviation : task.deviations) {
      out += fmt::format("- {}: differs from its protocol: {}\n", task.name, deviation);
    }
  }
  out += "## Model\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"family", model.family},
      {"parameters", fmt::format("{}", model.parameters)},
      {"dtype", model.dtype},
      {"device", model.device},
      {"longest input (tokens)", fmt::format("{}", model.max_length)},
      {"vocabulary", fmt::format("{}", model.vocabulary)},
      {"weights SHA-256", model.weights_fingerprint},
      {"tokenizer SHA-256",
       model.tokenizer_fingerprint.empty() ? "none" : model.tokenizer_fingerprint}};
  for (const auto& [name, value] : SoftmaxRows(record.softmax)) rows.push_back({name, value});
  for (const auto& [name, value] : model.settings) rows.push_back({Cell(name), Cell(value)});
  out += MarkdownTable({"", "Value"}, rows) + "\n";
  out += "## Settings\n\n";
  rows.clear();
  for (const Setting& setting : record.settings) {
    rows.push_back({setting.name, Cell(setting.value_json), setting.origin});
  }
  out += MarkdownTable({"Setting", "Value", "From"}, rows) + "\n";
  out += fmt::format("natsl-bench {}. Wall times are in timings.json.\n", record.program_version);
  return out;
}

}  // namespace natsl::reports
