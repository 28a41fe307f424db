// The latency side of `natsl-bench compare`: verdicts, and re-runs that confirm them.
#pragma once

#include <string>
#include <vector>

#include "reports/latency_compare.h"

namespace natsl::cli {

struct CompareLatencyOptions {
  std::string base, changed;  ///< latency.json files, or folders with one
  std::string junit, markdown;
  std::vector<std::string> confirm;  ///< empty, or two commands: BASE's and NEW's
  int64_t confirm_rounds = 5;
  reports::LatencyCompareOptions compare;
};

/// Prints the comparison and returns the exit status. Throws Error.
int CompareLatencyRuns(const CompareLatencyOptions& options);

}  // namespace natsl::cli
