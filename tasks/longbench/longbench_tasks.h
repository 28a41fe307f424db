// LongBench (v1): 21 tasks `longbench_NAME`, and the 13 of LongBench-E `longbench_e_NAME` with a
// score for each bucket of lengths.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/longbench/datasets.h"
#include "tasks/registry.h"

namespace natsl::tasks::longbench {

/// Reads longbench/NAME.jsonl (LongBench-E: NAME_e.jsonl). Parameter max_length: prompts are cut in
/// their middle to this many tokens; default: the model's maximum length less 500.
std::vector<TaskEntry> LongBenchTasks();

/// The prompt of a record: plain substitution of {context} and {input}; braces in the data stay.
std::string FillPrompt(const Dataset& dataset, const std::string& context,
                       const std::string& input);

}  // namespace natsl::tasks::longbench
