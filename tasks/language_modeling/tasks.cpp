// The table of language-modelling tasks.
#include "tasks/language_modeling/tasks.h"

namespace natsl::tasks {

std::vector<TaskEntry> LanguageModelingTasks() {
  std::vector<TaskEntry> all = LambadaTasks();
  for (TaskEntry& entry : WikitextTasks()) all.push_back(std::move(entry));
  return all;
}

}  // namespace natsl::tasks
