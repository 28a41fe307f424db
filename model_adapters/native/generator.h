// Greedy and sampled generation of many sequences, packed; finished sequences leave the batch.
#pragma once

#include "model_adapters/generate_groups.h"
#include "model_adapters/native/runner.h"

namespace natsl::model_adapters::native {

/// Fills `results`. Requests are sorted by prompt and cut into groups, a pure function of the
/// requests and limits; a group runs together from prefill to its last token.
void GenerateAll(Runner& runner, std::span<const TokenGenerateRequest> requests,
                 const GenerateLimits& limits, std::span<TokenGeneration> results,
                 BatchListener& listener);

}  // namespace natsl::model_adapters::native
