// Which tasks each group stands for, and what its mean is made of.
#include "tasks/groups.h"

namespace natsl::tasks {

std::vector<GroupEntry> GroupTable() {
  return {
      {.name = "commonsense",
       .summary = "zero-shot set of the linear-attention papers",
       .tasks = {"lambada_openai", "piqa", "hellaswag"}},
      {.name = "recall", .summary = "recall-intensive reading", .tasks = {}},
      {.name = "ruler", .summary = "RULER's 13 tasks", .tasks = {}},
      {.name = "longbench", .summary = "LongBench's 21 sets", .tasks = {}},
      {.name = "longbench_e", .summary = "LongBench-E by length", .tasks = {}},
      {.name = "extrapolation",
       .summary = "loss by position beyond the training length",
       .tasks = {}},
      {.name = "synthetic", .summary = "seeded associative recall", .tasks = {}},
  };
}

}  // namespace natsl::tasks
