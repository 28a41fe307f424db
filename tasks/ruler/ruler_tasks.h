// The 13 RULER tasks over their generators.
#pragma once

#include <vector>

#include "tasks/registry.h"

namespace natsl::tasks::ruler {

/// `ruler_niah_single_1` ... `ruler_qa_2`. Parameters: length (tokens, default 4096), samples
/// (500), essay (a text file or folder below the data folder), fit (bisect, or reference: the
/// reference's way to shorten samples, byte for byte), file (samples made elsewhere: RULER's
/// JSONL).
std::vector<TaskEntry> RulerTasks();

}  // namespace natsl::tasks::ruler
