// A run's output folder read back into the records that it was written from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reports/run_record.h"

namespace natsl::reports {

/// A run in a report of one or several.
struct ReportedRun {
  std::string label;  ///< tells it from the others
  RunRecord record;
  std::optional<ExecutionRecord> execution;  ///< where timings.json is there
};

/// Throws Error (data): results.json missing, malformed or not of natsl-bench.
ReportedRun ReadReportedRun(const std::filesystem::path& folder);

}  // namespace natsl::reports
