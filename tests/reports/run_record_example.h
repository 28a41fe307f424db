// A small record for tests of reports.
#pragma once

#include "reports/run_record.h"

namespace natsl::reports {

inline MetricRecord ExampleMetric(const std::string& name, Number value, Number error,
                                  bool higher = true) {
  MetricRecord metric;
  metric.name = name;
  metric.aggregation = "mean";
  metric.higher_is_better = higher;
  metric.value = std::move(value);
  metric.standard_error = std::move(error);
  metric.n = 20;
  return metric;
}

inline RunRecord ExampleRecord() {
  RunRecord record;
  record.program_version = "0.1.0";
  record.model.name = "/path/to/model";
  record.model.family = "llama";
  record.model.max_length = 512;
  record.settings = {{"limit", "20", "flag"}, {"seed", "null", "default"}};
  TaskRecord piqa;
  piqa.name = "piqa";
  piqa.version_json = "1.0";
  piqa.documents = 200;
  piqa.evaluated = 20;
  piqa.subset = "first 20 of 200";
  piqa.counts.requests = 40;
  piqa.counts.truncated_requests = 2;
  piqa.hash = "aa";
  piqa.warnings = {"2 of 40 requests were truncated (7 tokens cut in all)"};
  piqa.metrics = {ExampleMetric("acc", Number::Of(0.45), Number::Of(0.11413288653790232)),
                  ExampleMetric("acc_norm", Number::Of(0.4), Number::Of(0.11239029738980327))};
  TaskRecord lambada;
  lambada.name = "lambada_openai";
  lambada.version_json = "1.0";
  lambada.documents = 200;
  lambada.evaluated = 20;
  lambada.metrics = {ExampleMetric("perplexity", Number::Of(5419850.059036109),
                                   Number::Of(1442504858.8912265), false),
                     ExampleMetric("acc", Number::Of(0.0), Number::Of(0.0))};
  record.tasks = {piqa, lambada};
  return record;
}

}  // namespace natsl::reports
