// The table of tasks and groups: name → factory. No static initialisers: one explicit list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace natsl::tasks {

struct TaskEntry {
  std::string name;
  TaskCard (*card)();
  std::unique_ptr<Task> (*load)(const DataSource& data, const TaskOptions& options);
};

struct GroupEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> tasks;
  /// True: the report carries one mean over the members; false: a mere shorthand.
  bool aggregate = false;
  bool weight_by_size = true;  ///< mean over documents, else over tasks
};

const std::vector<TaskEntry>& Tasks();
const std::vector<GroupEntry>& Groups();

/// Task names of a comma-separated list of tasks, groups and wildcards (`ruler_*`), in order,
/// without repetition. An unknown name is an Error (usage) that suggests the nearest ones.
std::vector<std::string> ResolveTasks(const std::string& list);
const TaskEntry& FindTask(const std::string& name);

}  // namespace natsl::tasks
