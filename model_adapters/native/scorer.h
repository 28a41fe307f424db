// Carries out a scoring plan on a network.
#pragma once

#include "model_adapters/native/network.h"
#include "model_adapters/native/plan.h"

namespace natsl::model_adapters::native {

/// Fills `results`; `choices` may be null.
void ScoreAll(const Network& network, std::span<const TokenScoreRequest> requests,
              const PlanLimits& limits, std::span<TokenScore> results, BatchListener& listener,
              ChunkChoices* choices);

}  // namespace natsl::model_adapters::native
