// The tables of tasks and groups: name → factory. No static initialisers: explicit lists, one a
// folder, put together in registry.cpp; the groups' members stand in groups.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tasks/data_source.h"
#include "tasks/task.h"

namespace natsl::tasks {

struct TaskEntry {
  std::string name;
  std::function<TaskCard()> card;
  std::function<std::unique_ptr<Task>(const DataSource& data, const TaskOptions& options)> load;
  /// Keys of TaskOptions::parameters that the task takes ("length"); the first is what a bare value
  /// after '@' sets.
  std::vector<std::string> parameters = {};
};

/// One metric of one member that enters a group's mean of unlike columns.
struct GroupColumn {
  std::string task;
  std::string metric;
};

struct GroupEntry {
  std::string name;
  std::string summary;
  std::vector<std::string> tasks;
  /// True: the report carries one mean over the members; false: a mere shorthand.
  bool aggregate = false;
  bool weight_by_size = true;  ///< mean over documents, else over tasks
  /// Where papers average different metrics: the columns of that unweighted mean (named "average").
  /// Empty: each metric is averaged over the members that have it.
  std::vector<GroupColumn> columns = {};
};

const std::vector<TaskEntry>& Tasks();
const std::vector<GroupEntry>& Groups();  ///< that have members

/// A task as asked for: "niah_single_1@4096" is niah_single_1 with its first parameter "4096";
/// "name@length=4096:pairs=64" names them.
struct TaskChoice {
  std::string name;  ///< as asked for, with parameters: what reports show
  const TaskEntry* entry = nullptr;
  std::map<std::string, std::string> parameters;
};

/// Tasks of a comma-separated list of tasks, groups and wildcards (`ruler_*`), in order, without
/// repetition. Parameters after a group or wildcard go to each member. An unknown name is an Error
/// (usage) that suggests the nearest ones.
std::vector<TaskChoice> ResolveTasks(const std::string& list);
/// By exact name. Error (usage) with the nearest names.
const TaskEntry& FindTask(const std::string& name);

}  // namespace natsl::tasks
