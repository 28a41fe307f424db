// Which tasks each group stands for, and what its mean is made of.
#include "tasks/groups.h"

namespace natsl::tasks {

std::vector<GroupEntry> GroupTable() {
  return {
      {.name = "commonsense",
       .summary = "zero-shot set of the linear-attention papers",
       .tasks = {"wikitext", "lambada_openai", "piqa", "hellaswag", "winogrande", "arc_easy",
                 "arc_challenge", "social_iqa", "boolq", "openbookqa"},
       .columns = {{"lambada_openai", "acc"},
                   {"piqa", "acc"},
                   {"hellaswag", "acc_norm"},
                   {"winogrande", "acc"},
                   {"arc_easy", "acc"},
                   {"arc_challenge", "acc_norm"},
                   {"social_iqa", "acc"},
                   {"boolq", "acc"}}},
      {.name = "recall",
       .summary = "recall-intensive reading",
       .tasks = {"swde", "fda", "squad_completion", "squadv2", "drop", "triviaqa", "nq_open"}},
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
