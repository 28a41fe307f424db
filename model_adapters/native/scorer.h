// Carries out a scoring plan.
#pragma once

#include "model_adapters/native/runner.h"
#include "model_adapters/score_plan.h"

namespace natsl::model_adapters::native {

/// Fills `results`.
void ScoreAll(Runner& runner, std::span<const TokenScoreRequest> requests, const PlanLimits& limits,
              std::span<TokenScore> results, BatchListener& listener);

}  // namespace natsl::model_adapters::native
