// Groups of prompts in sorted order, and their split over processes.
#include "model_adapters/generate_groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/cast.h"
#include "model_adapters/score_plan.h"

namespace natsl::model_adapters {

std::vector<std::vector<size_t>> GenerateGroups(std::span<const TokenGenerateRequest> requests,
                                                const GenerateLimits& limits) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto& x = requests[a];
    const auto& y = requests[b];
    return std::tie(x.prompt, x.max_new_tokens, x.sampling.seed, a) <
           std::tie(y.prompt, y.max_new_tokens, y.sampling.seed, b);
  });
  std::vector<std::vector<size_t>> groups;
  int64_t tokens = 0;
  for (const size_t index : order) {
    const int64_t own = core::Size(requests[index].prompt) + requests[index].max_new_tokens;
    if (groups.empty() || core::Size(groups.back()) == limits.max_sequences ||
        tokens + own > limits.held_tokens) {
      groups.emplace_back();
      tokens = 0;
    }
    groups.back().push_back(index);
    tokens += own;
  }
  return groups;
}

std::vector<int> SplitGenerateGroups(std::span<const TokenGenerateRequest> requests,
                                     const std::vector<std::vector<size_t>>& groups, int parts) {
  std::vector<int64_t> costs;
  for (const std::vector<size_t>& group : groups) {
    int64_t cost = 0;
    for (const size_t r : group) {
      cost += core::Size(requests[r].prompt) + requests[r].max_new_tokens;
    }
    costs.push_back(cost);
  }
  const std::vector<int> part_of = SplitGroups(costs, parts);
  std::vector<int> part(requests.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const size_t r : groups[g]) part[r] = part_of[g];
  }
  return part;
}

}  // namespace natsl::model_adapters
