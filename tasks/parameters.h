// Typed access to a task's own parameters (TaskOptions::parameters), with errors that name them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "tasks/task.h"

namespace natsl::tasks {

class Parameters {
 public:
  /// `known`: the names the task understands; any other is an Error (usage) that lists them.
  Parameters(const std::string& task, const TaskOptions& options,
             std::initializer_list<std::string_view> known);

  std::optional<std::string> Text(std::string_view name) const;
  /// An integer >= `least`; "4k" is 4096.
  std::optional<int64_t> Count(std::string_view name, int64_t least = 1) const;

 private:
  std::string task_;
  const TaskOptions& options_;
};

}  // namespace natsl::tasks
