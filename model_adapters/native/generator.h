// Greedy and sampled generation of many sequences, packed; finished sequences leave the batch.
#pragma once

#include "model_adapters/native/runner.h"

namespace natsl::model_adapters::native {

struct GenerateLimits {
  int64_t batch_tokens = 8192;   ///< most tokens of one pass over prompts
  int64_t max_sequences = 64;    ///< that advance together
  int64_t held_tokens = 131072;  ///< most prompt and new tokens of a group
  bool share_prefixes = true;
};

/// Fills `results`. Requests are sorted by prompt and cut into groups, a pure function of the
/// requests and limits; a group runs together from prefill to its last token.
void GenerateAll(Runner& runner, std::span<const TokenGenerateRequest> requests,
                 const GenerateLimits& limits, std::span<TokenGeneration> results,
                 BatchListener& listener);

}  // namespace natsl::model_adapters::native
