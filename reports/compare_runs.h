// Two task runs side by side: documents paired by id, an effect with its
// interval, a verdict.
#pragma once

#include <string>
#include <vector>

#include "reports/run_folder.h"

namespace natsl::reports {

enum class Verdict { kBetter, kSame, kWorse, kAmbiguous, kMissing };
const char* Name(Verdict verdict);

struct CompareOptions {
  double confidence = 0.95;
  /// SAME: the interval lies within +- this (in the effect's unit).
  double margin = 0.01;
  uint64_t seed = 0;
  int64_t replicates = 100000;
};

struct MetricComparison {
  std::string task, metric;
  Verdict verdict = Verdict::kMissing;
  std::string reason;  ///< of MISSING
  int64_t pairs = 0;
  double base = 0, changed = 0;  ///< the runs' own values
  /// Mean over documents of NEW - BASE, positive where NEW is better: in the
  /// metric's unit for means, in nats (a document, a word, a byte) for
  /// perplexities.
  double effect = 0, low = 0, high = 0;
  std::string unit;
  std::string test;    ///< "McNemar exact", "bootstrap"
  double p_value = 1;  ///< of McNemar's test; unused otherwise
  std::vector<std::string> lost,
      won;  ///< ids that flipped, for right-or-wrong metrics
};

/// Every metric that either run has. Tasks whose data, protocol, shots or
/// documents differ are MISSING with the reason: never compared.
std::vector<MetricComparison> CompareRuns(const StoredRun& base, const StoredRun& changed,
                                          const CompareOptions& options);

/// `shown`: most documents that are listed of those that flipped, each way.
std::string ComparisonMarkdown(const StoredRun& base, const StoredRun& changed,
                               const std::vector<MetricComparison>& comparisons, size_t shown);

}  // namespace natsl::reports
