#include "cli/finish_run.h"

#include "core/files.h"
#include "evaluators/aggregate.h"
#include "evaluators/score.h"
#include "evaluators/softmax_use.h"
#include "reports/results_json.h"
#include "reports/run_markdown.h"
#include "reports/runs_page.h"
#include "reports/samples_jsonl.h"
#include "tasks/registry.h"

namespace natsl::cli {
namespace {

/// The groups that the user named. A member with parameters ("name@4096") is a member too; tasks of
/// different parameters are never averaged: each set of them makes a row of its own.
std::vector<reports::GroupRecord> Groups(const std::string& task_list,
                                         const std::vector<reports::TaskRecord>& tasks) {
  std::vector<reports::GroupRecord> records;
  for (const tasks::GroupEntry& group : tasks::Groups()) {
    const std::string wrapped = "," + task_list + ",";
    if (wrapped.find("," + group.name + ",") == std::string::npos &&
        wrapped.find("," + group.name + "@") == std::string::npos) {
      continue;
    }
    std::vector<std::pair<std::string, std::vector<const reports::TaskRecord*>>> by_parameters;
    for (const std::string& name : group.tasks) {
      for (const reports::TaskRecord& task : tasks) {
        if (task.name != name && !task.name.starts_with(name + "@")) continue;
        const std::string parameters = task.name.substr(name.size());
        auto found = std::find_if(by_parameters.begin(), by_parameters.end(),
                                  [&](const auto& row) { return row.first == parameters; });
        if (found == by_parameters.end()) {
          found = by_parameters.insert(found, {parameters, {}});
        }
        found->second.push_back(&task);
      }
    }
    for (const auto& [parameters, members] : by_parameters) {
      records.push_back(evaluators::AggregateGroup(group, members));
      if (by_parameters.size() > 1) records.back().name += parameters;
    }
  }
  return records;
}

}  // namespace

reports::LogSamples ToLogSamples(const std::string& name) {
  return name == "none"    ? reports::LogSamples::kNone
         : name == "wrong" ? reports::LogSamples::kWrong
                           : reports::LogSamples::kAll;
}

void FinishRun(const std::vector<evaluators::SelectedTask>& tasks,
               const evaluators::RequestPlan& plan, const evaluators::Answers& answers,
               const std::string& task_list, reports::LogSamples log_samples, int threads,
               const std::filesystem::path& folder, reports::RunRecord& record) {
  for (size_t t = 0; t < tasks.size(); ++t) {
    reports::SamplesWriter writer(folder / reports::SamplesFileName(tasks[t].name), log_samples);
    record.tasks.push_back(
        evaluators::ScoreTask(tasks[t], plan.slots[t], answers, threads,
                              [&](const reports::SampleRecord& row) { writer.Add(row); }));
    record.tasks.back().prompts_sha256 = plan.task_fingerprints[t];
    record.tasks.back().softmax =
        evaluators::CountSoftmax(record.model.nats_layers, plan.slots[t], answers);
    writer.Finish();
  }
  record.softmax = evaluators::SumSoftmax(record.tasks);
  record.groups = Groups(task_list, record.tasks);
  core::WriteFileAtomic(folder / "report.md", reports::RunMarkdown(record));
  core::WriteFileAtomic(folder / "report.html",
                        reports::RunsHtml({{record.model.name, record, {}}}));
  core::WriteFileAtomic(folder / "results.json", reports::ResultsJson(record));
}

}  // namespace natsl::cli
