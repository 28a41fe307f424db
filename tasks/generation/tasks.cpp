// The table of generation tasks.
#include "tasks/generation/tasks.h"

#include <utility>

#include "tasks/generation/based.h"

namespace natsl::tasks {

std::vector<TaskEntry> GenerationTasks() {
  std::vector<TaskEntry> entries = {
      GenerationEntry(SwdeSpec),    GenerationEntry(FdaSpec),  GenerationEntry(SquadCompletionSpec),
      GenerationEntry(SquadV2Spec), GenerationEntry(DropSpec), GenerationEntry(TriviaQaSpec),
      GenerationEntry(NqOpenSpec)};
  for (TaskEntry& entry : BasedTasks()) entries.push_back(std::move(entry));
  return entries;
}

TaskCard GenerationCard(std::string name, std::string summary, std::string dataset,
                        std::string version, std::string licence, std::string few_shot) {
  TaskCard card;
  card.name = std::move(name);
  card.summary = std::move(summary);
  card.dataset = std::move(dataset);
  card.split = "validation";
  card.protocol = "lm-evaluation-harness 0.4.13";
  card.version = std::move(version);
  card.output_type = "generate_until";
  card.licence = std::move(licence);
  card.few_shot = std::move(few_shot);
  return card;
}

}  // namespace natsl::tasks
