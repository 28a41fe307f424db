// From answers to the files of a run's folder: shared by `run` and `rescore`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "evaluators/execute.h"
#include "evaluators/request_plan.h"
#include "reports/run_record.h"
#include "reports/samples_jsonl.h"

namespace natsl::cli {

reports::LogSamples ToLogSamples(const std::string& name);

/// Scores every task, writes its samples, then report.md and results.json (last: its presence
/// means that the folder is complete). `record` comes with model and settings. `task_list`: as the
/// user gave it, to tell which groups were asked for.
void FinishRun(const std::vector<evaluators::SelectedTask>& tasks,
               const evaluators::RequestPlan& plan, const evaluators::Answers& answers,
               const std::string& task_list, reports::LogSamples log_samples, int threads,
               const std::filesystem::path& folder, reports::RunRecord& record);

}  // namespace natsl::cli
