// `run --plan`: what a run would do, without a model.
#pragma once

#include <ostream>
#include <vector>

#include "cli/model_options.h"
#include "evaluators/request_plan.h"

namespace natsl::cli {

/// Throws Error (data), after the plan, where requests can't be encoded: the run would fail them.
void PrintPlan(const std::vector<evaluators::SelectedTask>& tasks,
               const evaluators::RequestPlan& plan, const ModelOptions& model, std::ostream& out);

}  // namespace natsl::cli
