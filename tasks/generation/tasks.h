// The generation tasks, for the registry; one file a family.
#pragma once

#include <vector>

#include "tasks/generation/generation_task.h"

namespace natsl::tasks {

GenerationSpec DropSpec();
GenerationSpec NqOpenSpec();
GenerationSpec TriviaQaSpec();
GenerationSpec SquadV2Spec();
GenerationSpec SquadCompletionSpec();
GenerationSpec SwdeSpec();
GenerationSpec FdaSpec();

std::vector<TaskEntry> GenerationTasks();

/// The card's fields that the tasks of lm-evaluation-harness share.
TaskCard GenerationCard(std::string name, std::string summary, std::string dataset,
                        std::string version, std::string licence, std::string few_shot);

}  // namespace natsl::tasks
