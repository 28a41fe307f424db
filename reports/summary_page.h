// Several models in one report for a newcomer: what was found in one sentence, recall by length,
// language-model loss by position, and how fast they are. As Markdown and as one HTML page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "latency/record/measurement.h"
#include "reports/read_record.h"

namespace natsl::reports {

struct Summary {
  std::string title;
  std::vector<ReportedRun> runs;                  ///< labelled
  std::optional<latency::LatencyRecord> latency;  ///< where speeds were measured
};

/// One sentence made of the numbers: mean scores at the shortest and the longest length that all
/// runs have, who is best there, and losses at the end of the longest windows. "Nothing to compare:
/// ..." where no task has lengths.
std::string Finding(const std::vector<ReportedRun>& runs);

std::string SummaryMarkdown(const Summary& summary);
std::string SummaryHtml(const Summary& summary);

}  // namespace natsl::reports
