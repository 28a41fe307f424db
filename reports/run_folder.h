// Reading a run's output folder back: what it is, its metrics, and its rows'
// values.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace natsl::reports {

struct StoredMetric {
  std::string key;          ///< "acc,none"
  std::string aggregation;  ///< mean, perplexity, weighted_perplexity, ...
  bool higher_is_better = true;
  bool has_value = false;
  double value = 0;
  int64_t documents = 0;  ///< that carry it
  /// Values by document id, at least one each; empty where the rows weren't logged.
  std::map<std::string, std::vector<double>> samples;
};

struct StoredTask {
  std::string name;
  /// What must be equal for two runs to be comparable, by name.
  std::map<std::string, std::string> identity;
  int64_t evaluated = 0;
  std::vector<StoredMetric> metrics;
};

struct StoredRun {
  std::string folder;
  std::string model;
  std::vector<StoredTask> tasks;
};

/// Throws Error (data): results.json or samples missing, malformed, or not of
/// natsl-bench.
StoredRun ReadRunFolder(const std::filesystem::path& folder);

}  // namespace natsl::reports
