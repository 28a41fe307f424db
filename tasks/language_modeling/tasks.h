// Tasks that score given text: last words and whole pages; for the registry.
#pragma once

#include <vector>

#include "tasks/registry.h"

namespace natsl::tasks {

std::vector<TaskEntry> LambadaTasks();
std::vector<TaskEntry> WikitextTasks();

std::vector<TaskEntry> LanguageModelingTasks();

}  // namespace natsl::tasks
