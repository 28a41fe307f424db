// The plots of a report of runs, as SVG. Empty where the runs have nothing of the kind.
#pragma once

#include <string>
#include <vector>

#include "reports/read_record.h"

namespace natsl::reports {

/// Each task's primary metric, a bar a run, with 95 % intervals. One plot for values up to 1, one
/// for others where higher is better.
std::vector<std::string> ScorePlots(const std::vector<ReportedRun>& runs);
/// RULER (and any task named with a length): score over length, and their mean.
std::vector<std::string> LengthPlots(const std::vector<ReportedRun>& runs);
/// Loss over position: by block, and over all tokens up to there.
std::vector<std::string> PositionPlots(const std::vector<ReportedRun>& runs);
/// LongBench-E's scores by bucket of length.
std::vector<std::string> BucketPlots(const std::vector<ReportedRun>& runs);

}  // namespace natsl::reports
