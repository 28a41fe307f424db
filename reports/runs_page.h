// One or several runs side by side: as one self-contained HTML page, Markdown, or JSON. What could
// mislead (subsets, truncation, warnings) stands first.
#pragma once

#include <string>
#include <vector>

#include "reports/read_record.h"

namespace natsl::reports {

/// Short labels that tell the runs apart: the end of the model's path, or of the folder's where two
/// have the same.
void LabelRuns(std::vector<ReportedRun>& runs);

std::string RunsHtml(const std::vector<ReportedRun>& runs);
/// One run: its report.md, with execution. Several: a column each.
std::string RunsMarkdown(const std::vector<ReportedRun>& runs);
std::string RunsJson(const std::vector<ReportedRun>& runs);

}  // namespace natsl::reports
