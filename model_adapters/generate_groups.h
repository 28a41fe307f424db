// Which generation requests run together: a pure function of the requests and the limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model_adapters/spec/model_spec.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

struct GenerateLimits {
  int64_t batch_tokens = 8192;   ///< most tokens of one pass over prompts
  int64_t max_sequences = 64;    ///< that advance together
  int64_t held_tokens = 131072;  ///< most prompt and new tokens of a group
  bool share_prefixes = true;
};

/// The limits under which a model of this spec is run.
GenerateLimits GenerateLimitsFor(const ModelSpec& spec, const OpenOptions& options);

/// Requests that run together, in the order in which they do.
std::vector<std::vector<size_t>> GenerateGroups(std::span<const TokenGenerateRequest> requests,
                                                const GenerateLimits& limits);
/// A part for each request, groups kept whole.
std::vector<int> SplitGenerateGroups(std::span<const TokenGenerateRequest> requests,
                                     const std::vector<std::vector<size_t>>& groups, int parts);

}  // namespace natsl::model_adapters
