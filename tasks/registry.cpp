// The table of tasks, one line a folder, and how names are resolved.
#include "tasks/registry.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/utf8.h"
#include "tasks/data/hub_cache.h"
#include "tasks/extrapolation/extrapolation_tasks.h"
#include "tasks/generation/tasks.h"
#include "tasks/groups.h"
#include "tasks/language_modeling/tasks.h"
#include "tasks/longbench/longbench_tasks.h"
#include "tasks/multiple_choice/tasks.h"
#include "tasks/nearest_names.h"
#include "tasks/ruler/ruler_tasks.h"
#include "tasks/synthetic/recall.h"

namespace natsl::tasks {
namespace {

std::vector<TaskEntry> AllTasks() {
  std::vector<TaskEntry> all;
  const auto add = [&all](std::vector<TaskEntry> folder) {
    std::move(folder.begin(), folder.end(), std::back_inserter(all));
  };
  add(LanguageModelingTasks());
  add(MultipleChoiceTasks());
  add(GenerationTasks());
  add(ruler::RulerTasks());
  add(longbench::LongBenchTasks());
  add(extrapolation::ExtrapolationTasks());
  add(synthetic::SyntheticTasks());
  return all;
}

std::vector<GroupEntry> GroupsWithMembers() {
  std::vector<GroupEntry> groups = GroupTable();
  std::erase_if(groups, [](const GroupEntry& group) { return group.tasks.empty(); });
  return groups;
}

Error UnknownName(const std::string& name) {
  std::vector<std::string> names;
  for (const TaskEntry& task : Tasks()) names.push_back(task.name);
  for (const GroupEntry& group : Groups()) names.push_back(group.name);
  const auto nearest = NearestNames(name, names);
  return UsageError(
      "unknown task '{}'{}; `natsl-bench list tasks` names all", name,
      nearest.empty() ? "" : fmt::format(", did you mean {}?", fmt::join(nearest, ", ")));
}

/// Entries that a name, a group's name or a wildcard stands for.
std::vector<const TaskEntry*> Entries(const std::string& name) {
  std::vector<const TaskEntry*> entries;
  for (const GroupEntry& group : Groups()) {
    if (group.name != name) continue;
    for (const std::string& member : group.tasks) entries.push_back(&FindTask(member));
    return entries;
  }
  if (name.find('*') == std::string::npos) return {&FindTask(name)};
  for (const TaskEntry& task : Tasks()) {
    if (MatchesGlob(task.name, name)) entries.push_back(&task);
  }
  if (entries.empty()) {
    throw UsageError("no task matches '{}'; `natsl-bench list tasks` names all", name);
  }
  return entries;
}

std::map<std::string, std::string> ParseParameters(const TaskEntry& task, std::string_view text) {
  std::map<std::string, std::string> parameters;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    const std::string part(text.substr(begin, end - begin));
    begin = end + 1;
    const size_t equals = part.find('=');
    const bool bare = equals == std::string::npos;
    if (task.parameters.empty()) {
      throw UsageError("task '{}' takes no parameters, found '@{}'", task.name, text);
    }
    const std::string key = bare ? task.parameters.front() : part.substr(0, equals);
    const std::string value = bare ? part : part.substr(equals + 1);
    if (std::find(task.parameters.begin(), task.parameters.end(), key) == task.parameters.end()) {
      throw UsageError("task '{}' has no parameter '{}', expected one of {}", task.name, key,
                       fmt::join(task.parameters, ", "));
    }
    if (value.empty()) {
      throw UsageError("task '{}': the parameter '{}' has no value in '@{}'", task.name, key, text);
    }
    if (!parameters.emplace(key, value).second) {
      throw UsageError("task '{}': the parameter '{}' is given twice in '@{}'", task.name, key,
                       text);
    }
  }
  return parameters;
}

}  // namespace

const std::vector<TaskEntry>& Tasks() {
  static const std::vector<TaskEntry> tasks = AllTasks();
  return tasks;
}

const std::vector<GroupEntry>& Groups() {
  static const std::vector<GroupEntry> groups = GroupsWithMembers();
  return groups;
}

const TaskEntry& FindTask(const std::string& name) {
  for (const TaskEntry& task : Tasks()) {
    if (task.name == name) return task;
  }
  throw UnknownName(name);
}

std::vector<TaskChoice> ResolveTasks(const std::string& list) {
  std::vector<TaskChoice> choices;
  std::set<std::string> seen;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item(core::PythonStrip(std::string_view(list).substr(begin, end - begin)));
    begin = end + 1;
    if (item.empty()) continue;
    const size_t at = item.find('@');
    for (const TaskEntry* entry : Entries(item.substr(0, at))) {
      TaskChoice choice{.name = entry->name, .entry = entry, .parameters = {}};
      if (at != std::string::npos) {
        choice.name += item.substr(at);
        choice.parameters = ParseParameters(*entry, std::string_view(item).substr(at + 1));
      }
      if (seen.insert(choice.name).second) choices.push_back(std::move(choice));
    }
  }
  if (choices.empty()) {
    throw UsageError("no task is named; `natsl-bench list tasks` names all");
  }
  return choices;
}

}  // namespace natsl::tasks
