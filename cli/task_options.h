// Options that choose tasks and documents, and the tasks they choose.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluators/request_plan.h"

namespace CLI {
class App;
}

namespace natsl::cli {

struct TaskSelection {
  std::string tasks;
  std::string data;
  std::optional<int64_t> limit;
  std::optional<int64_t> sample;
  std::string ids;
  std::optional<int64_t> num_fewshot;
  std::string fewshot_from;
  std::string fewshot_sampler = "random";
  bool fewshot_exclude = false;
  std::optional<uint64_t> seed;
};

void AddTaskSelection(CLI::App& app, TaskSelection& selection);

/// Loads the tasks and chooses their documents. `count_tokens` is called only by tasks that are
/// built to a length. Throws Error (usage: unknown task; data: missing or wrong file).
std::vector<evaluators::SelectedTask> LoadTasks(
    const TaskSelection& selection, std::function<int64_t(const std::string&)> count_tokens);

}  // namespace natsl::cli
