// Which points a run measures, from lengths, depths, batches and phases.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latency/record/measurement.h"

namespace natsl::latency {

struct PlanOptions {
  std::vector<Phase> phases = {Phase::kPrefill, Phase::kFirstToken, Phase::kDecode};
  std::vector<int64_t> prompts;  ///< prefill, ttft, e2e, tokenize
  std::vector<int64_t> depths;   ///< decode, sample
  std::vector<int64_t> batches = {1};
  int64_t new_tokens = 64;
};

/// "prefill,decode" or "all". Throws Error (usage).
std::vector<Phase> ParsePhases(std::string_view text);

/// Phase by phase, batch by batch, lengths ascending.
std::vector<Point> MakePlan(const PlanOptions& options);

/// Keeps the points named in `names` ("pp1k,tg64@d4k"). Throws Error (usage) for a name that the
/// plan doesn't have.
std::vector<Point> Only(const std::vector<Point>& points, std::string_view names);

}  // namespace natsl::latency
