// The table of multiple-choice tasks.
#include "tasks/multiple_choice/tasks.h"

namespace natsl::tasks {
namespace {

TaskEntry Entry(MultipleChoiceSpec (*spec)()) {
  return {.name = spec().card.name,
          .card = [spec] { return spec().card; },
          .load =
              [spec](const DataSource& data, const TaskOptions& options) {
                return LoadMultipleChoice(spec(), data, options);
              }};
}

}  // namespace

std::vector<TaskEntry> MultipleChoiceTasks() {
  return {Entry(PiqaSpec),         Entry(HellaswagSpec),  Entry(ArcEasySpec),
          Entry(ArcChallengeSpec), Entry(OpenBookQaSpec), Entry(WinograndeSpec),
          Entry(BoolQSpec),        Entry(SocialIqaSpec),  Entry(SciqSpec)};
}

}  // namespace natsl::tasks
