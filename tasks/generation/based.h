// The recall suite of the HazyResearch fork: based_swde, based_fda, based_squad, based_drop,
// based_triviaqa, based_nq_512 / 1024 / 2048, and each with "_twice".
#pragma once

#include <vector>

#include "tasks/registry.h"

namespace natsl::tasks {

/// Parameters: context_length (ids of a document, default 2048; 0: documents stay whole) and
/// answer_length (ids kept free for the answer, default 50).
std::vector<TaskEntry> BasedTasks();

}  // namespace natsl::tasks
