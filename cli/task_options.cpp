#include "cli/task_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "cli/checks/number_checks.h"
#include "core/error.h"
#include "core/files.h"
#include "core/utf8.h"
#include "evaluators/subset.h"
#include "tasks/data_source.h"
#include "tasks/registry.h"

namespace natsl::cli {
namespace {

constexpr uint64_t kSampleSeed = 1234;

std::set<std::string> ReadIds(const std::string& file) {
  std::set<std::string> ids;
  std::string content = core::ReadFile(file, ErrorCode::kUsage);
  if (content.starts_with("\xEF\xBB\xBF")) content.erase(0, 3);
  for (size_t begin = 0; begin < content.size();) {
    size_t end = content.find('\n', begin);
    if (end == std::string::npos) end = content.size();
    const std::string_view id =
        core::PythonStrip(std::string_view(content).substr(begin, end - begin));
    if (!id.empty()) ids.emplace(id);
    begin = end + 1;
  }
  if (ids.empty()) throw UsageError("{}: holds no ids (one a line expected)", file);
  return ids;
}

/// "piqa:12" where piqa isn't among the tasks: an id of another one's list.
bool IsOfAnotherTask(const std::string& id, const std::vector<evaluators::SelectedTask>& tasks) {
  const std::string name = id.substr(0, id.find(':'));
  const auto names = [&](const auto& task) { return task.name == name; };
  if (name == id || std::ranges::any_of(tasks, names)) return false;
  const std::string entry = name.substr(0, name.find('@'));
  return std::ranges::any_of(tasks::Tasks(), [&](const auto& task) { return task.name == entry; });
}

/// A misspelt id would leave its document out and nobody would know.
void RequireAllFound(std::set<std::string> ids, const std::vector<evaluators::SelectedTask>& tasks,
                     const std::string& file) {
  const size_t asked = ids.size();
  for (const evaluators::SelectedTask& task : tasks) {
    for (const int64_t index : task.documents) {
      const std::string id = task.task->Requests(index).id;
      ids.erase(id);
      ids.erase(task.name + ":" + id);
    }
  }
  std::erase_if(ids, [&](const std::string& id) { return IsOfAnotherTask(id, tasks); });
  if (ids.empty()) return;
  constexpr size_t kShown = 5;
  std::string shown;
  size_t count = 0;
  for (const std::string& id : ids) {
    if (++count > kShown) break;
    shown += (shown.empty() ? "" : ", ") + id;
  }
  throw UsageError("{}: {} of {} ids are of no document of the tasks: {}{}", file, ids.size(),
                   asked, shown, ids.size() > kShown ? ", ..." : "");
}

/// The task, loaded; an error says which one, once.
std::unique_ptr<tasks::Task> Load(const tasks::TaskChoice& choice, const tasks::DataSource& data,
                                  const tasks::TaskOptions& options) {
  const std::string where = "task " + choice.name;
  try {
    return choice.entry->load(data, options);
  } catch (const std::filesystem::filesystem_error& error) {
    throw DataError("{}: {}: {}", where, error.path1().string(), error.code().message());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(where + ":")) throw;
    throw error.WithContext(where);
  }
}

}  // namespace

void AddTaskSelection(CLI::App& app, TaskSelection& selection) {
  app.add_option("--tasks", selection.tasks,
                 "Tasks, groups and wildcards, with commas between (natsl-bench list tasks)")
      ->required();
  app.add_option("--data", selection.data, "Folder of the datasets' files")->required();
  CLI::Option* limit =
      app.add_option("--limit", selection.limit, "Only the first N documents of each task")
          ->check(WholeNumber(1, kAnyCount));
  CLI::Option* sample =
      app.add_option("--sample", selection.sample,
                     "Only N documents of each task, drawn with --seed (the same for any model)")
          ->check(WholeNumber(1, kAnyCount))
          ->excludes(limit);
  app.add_option("--ids", selection.ids, "Only the documents whose ids stand in FILE, one a line")
      ->excludes(limit)
      ->excludes(sample);
  CLI::Option* count =
      app.add_option("--num-fewshot", selection.num_fewshot, "Examples before each document")
          ->check(WholeNumber(0, 10000));
  app.add_option("--fewshot-from", selection.fewshot_from,
                 "A file to draw examples from, or first:N (the first N records are the pool, the "
                 "rest is evaluated); default: the protocol's split")
      ->needs(count);
  app.add_option("--fewshot-sampler", selection.fewshot_sampler, "How examples are drawn")
      ->check(CLI::IsMember({"random", "first_n"}))
      ->capture_default_str();
  app.add_flag("--fewshot-exclude", selection.fewshot_exclude,
               "Never show the evaluated document as an example");
  app.add_option("--seed", selection.seed,
                 "Seed of few-shot draws (default 1234), generated documents (42) and --sample "
                 "(1234)")
      ->check(SeedNumber());
}

std::vector<evaluators::SelectedTask> LoadTasks(
    const TaskSelection& selection, std::function<int64_t(const std::string&)> count_tokens) {
  const std::vector<tasks::TaskChoice> choices = tasks::ResolveTasks(selection.tasks);
  if (std::error_code error; !std::filesystem::is_directory(selection.data, error)) {
    throw DataError("{}: no such folder; --data takes the folder that holds the datasets",
                    selection.data);
  }
  const tasks::DataSource data(selection.data);
  tasks::TaskOptions options;
  options.few_shot.count = selection.num_fewshot;
  options.few_shot.from = selection.fewshot_from;
  options.few_shot.sampler = selection.fewshot_sampler == "first_n"
                                 ? tasks::FewShotSampler::kFirstN
                                 : tasks::FewShotSampler::kRandom;
  options.few_shot.exclude_evaluated = selection.fewshot_exclude;
  if (selection.seed) {
    options.few_shot.seed = *selection.seed;
    options.seed = *selection.seed;
  }
  options.limit = selection.limit;
  options.count_tokens = std::move(count_tokens);

  evaluators::SubsetOptions subset;
  subset.limit = selection.limit;
  subset.sample = selection.sample;
  subset.sample_seed = selection.seed.value_or(kSampleSeed);
  if (!selection.ids.empty()) subset.ids = ReadIds(selection.ids);

  std::vector<evaluators::SelectedTask> selected;
  for (const tasks::TaskChoice& choice : choices) {
    options.parameters = choice.parameters;
    evaluators::SelectedTask task;
    task.name = choice.name;
    task.task = Load(choice, data, options);
    evaluators::Subset chosen = evaluators::ChooseDocuments(choice.name, *task.task, subset);
    task.documents = std::move(chosen.documents);
    task.subset = std::move(chosen.description);
    task.num_fewshot = selection.num_fewshot.value_or(0);
    selected.push_back(std::move(task));
  }
  if (subset.ids) RequireAllFound(*subset.ids, selected, selection.ids);
  return selected;
}

}  // namespace natsl::cli
