// The multiple-choice tasks, for the registry; one file each.
#pragma once

#include <vector>

#include "tasks/multiple_choice/multiple_choice_task.h"
#include "tasks/registry.h"

namespace natsl::tasks {

MultipleChoiceSpec PiqaSpec();
MultipleChoiceSpec HellaswagSpec();
MultipleChoiceSpec ArcEasySpec();
MultipleChoiceSpec ArcChallengeSpec();
MultipleChoiceSpec OpenBookQaSpec();
MultipleChoiceSpec WinograndeSpec();
MultipleChoiceSpec BoolQSpec();
MultipleChoiceSpec SocialIqaSpec();
MultipleChoiceSpec SciqSpec();

std::vector<TaskEntry> MultipleChoiceTasks();

}  // namespace natsl::tasks
