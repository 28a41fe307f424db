// The table of results that people know from lm-evaluation-harness, as Markdown.
#pragma once

#include <string>
#include <vector>

#include "reports/run_record.h"

namespace natsl::reports {

/// Lays out cells as the reference's table writer does: numbers (also those given as text) to the
/// right, a wholly numeric column with as many decimals as its longest shortest form, text to the
/// left; headers centred.
std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows);

/// Tasks by name; a second table for groups with a value of their own.
std::string ConsoleTable(const RunRecord& record);

}  // namespace natsl::reports
