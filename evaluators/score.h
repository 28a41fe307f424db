// From answers to sample rows and metrics.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluators/execute.h"
#include "evaluators/request_plan.h"
#include "reports/run_record.h"

namespace natsl::evaluators {

/// Gets a task's rows in order: filter by filter, document by document.
using SampleSink = std::function<void(const reports::SampleRecord&)>;

/// The generation settings of a request as the reference logs them (arg_1), as JSON text.
std::string GenerationArguments(const tasks::GenerateRequest& request);

/// Scores a task's documents on `threads` threads (0: all cores). Documents with a failed or
/// skipped request have a row but no metrics; they are counted and warned of.
reports::TaskRecord ScoreTask(const SelectedTask& selected,
                              const std::vector<std::vector<RequestSlot>>& slots,
                              const Answers& answers, int threads, const SampleSink& sink);

}  // namespace natsl::evaluators
