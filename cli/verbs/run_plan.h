// `natsl-bench run --plan`: what a run would do.
#pragma once

#include <ostream>
#include <vector>

#include "cli/model_options.h"
#include "evaluators/request_plan.h"

namespace natsl::cli {

/// Requests by task and kind; for a checkpoint also tokens asked for, tokens that prefix sharing
/// leaves to compute, and batches.
void PrintPlan(const std::vector<evaluators::SelectedTask>& tasks,
               const evaluators::RequestPlan& plan, const ModelOptions& model, std::ostream& out);

}  // namespace natsl::cli
