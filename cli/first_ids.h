// The ids that a checkpoint reads for each task's first request: the record shows them, so that a
// wrong tokenizer or start token is seen at a glance.
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"
#include "evaluators/request_plan.h"

namespace natsl::cli {

/// Fills SelectedTask::first_request_ids. Models that aren't checkpoints and requests that can't be
/// encoded leave them empty.
void FindFirstIds(const evaluators::RequestPlan& plan, const ModelOptions& options,
                  int64_t max_length, std::vector<evaluators::SelectedTask>& tasks);

/// As JSON text, for the journal, and back.
std::string FirstIdsToJson(const std::vector<evaluators::SelectedTask>& tasks);
void FirstIdsFromJson(const std::string& json, std::vector<evaluators::SelectedTask>& tasks);

}  // namespace natsl::cli
