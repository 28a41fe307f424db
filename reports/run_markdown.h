// report.md: a run on one readable page, what could mislead first.
#pragma once

#include <string>

#include "reports/run_record.h"

namespace natsl::reports {

std::string RunMarkdown(const RunRecord& record);

}  // namespace natsl::reports
