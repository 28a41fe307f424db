// The table of metrics: name → score of a case. A case is a JSON object {prediction, references,
// extra}; names, inputs and results are those of the reference's published test cases.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

struct MetricEntry {
  const char* name;
  const char* summary;
  /// Throws Error (data) where the reference raises, or where the case isn't of the metric's shape.
  nlohmann::ordered_json (*score)(const nlohmann::ordered_json& sample);
};

const std::vector<MetricEntry>& Metrics();

/// The score of one case: a number, text, list or object as the reference gives it. Numbers that
/// JSON lacks are "NaN", "Infinity", "-Infinity"; a part of an object that has no value is
/// {"error": why}. Throws Error (usage) for an unknown name.
nlohmann::ordered_json ScoreMetricCase(std::string_view name, const nlohmann::ordered_json& sample);

}  // namespace natsl::tasks::metrics
