// `natsl-bench inspect metric NAME`: scores of cases, one JSON line each.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/json_lines.h"
#include "cli/suggest.h"
#include "cli/verbs/inspect.h"
#include "core/json.h"
#include "reports/console_table.h"
#include "tasks/metrics/registry.h"

namespace natsl::cli {
namespace {

using tasks::metrics::MetricEntry;
using tasks::metrics::Metrics;

void PrintNames() {
  std::vector<std::vector<std::string>> rows;
  for (const MetricEntry& metric : Metrics()) rows.push_back({metric.name, metric.summary});
  std::cout << reports::MarkdownTable({"Metric", "What"}, rows);
}

void Run(const std::string& name) {
  std::vector<std::string> names;
  for (const MetricEntry& metric : Metrics()) names.emplace_back(metric.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UsageError("unknown metric {}{} (natsl-bench inspect metric names all)", name,
                     DidYouMean(name, names));
  }
  ForEachJsonLine(std::cin, [&](core::Json& line, const std::string&) {
    try {
      line["score"] = tasks::metrics::ScoreMetricCase(name, line);
    } catch (const Error& error) {
      line["error"] = error.what();
    }
    std::cout << core::PythonJson(line) << '\n';
  });
}

}  // namespace

void AddInspectMetric(CLI::App& inspect) {
  CLI::App* verb = inspect.add_subcommand(
      "metric",
      "Scores of cases: JSONL {\"prediction\", \"references\", \"extra\"} on stdin; "
      "stdout adds score, or error. Without a name: the names");
  auto name = std::make_shared<std::string>();
  verb->add_option("name", *name, "Metric");
  verb->callback([name] {
    if (name->empty())
      PrintNames();
    else
      Run(*name);
  });
}

}  // namespace natsl::cli
