// The table of language-modelling tasks.
#include "tasks/language_modeling/tasks.h"

namespace natsl::tasks {

std::vector<TaskEntry> LanguageModelingTasks() { return LambadaTasks(); }

}  // namespace natsl::tasks
