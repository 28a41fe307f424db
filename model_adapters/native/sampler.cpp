// Greedy and sampled choice.
#include "model_adapters/native/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/cast.h"

namespace natsl::model_adapters::native {

double Random::Uniform() {
  counter_ += 0x9E3779B97F4A7C15u;
  uint64_t z = counter_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

TokenId Argmax(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TokenId Sample(std::span<const float> logits, const Sampling& sampling, Random& random) {
  for (const float logit : logits) {
    if (std::isnan(logit)) return kNoToken;
  }
  if (sampling.temperature <= 0) return Argmax(logits);
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), TokenId{0});
  const auto likelier = [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  size_t kept = ids.size();
  if (sampling.top_k > 0) kept = std::min(kept, static_cast<size_t>(sampling.top_k));
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(kept), ids.end(), likelier);
  std::vector<double> weights(kept);
  const double top = static_cast<double>(logits[static_cast<size_t>(ids[0])]);
  for (size_t i = 0; i < kept; ++i) {
    const double logit = static_cast<double>(logits[static_cast<size_t>(ids[i])]);
    weights[i] = std::exp((logit - top) / sampling.temperature);
  }
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sampling.top_p < 1) {
    double sum = 0;
    size_t count = 0;
    while (count < kept && sum < sampling.top_p * total) sum += weights[count++];
    kept = std::max<size_t>(count, 1);
    total = std::accumulate(weights.begin(), weights.begin() + static_cast<ptrdiff_t>(kept), 0.0);
  }
  double left = random.Uniform() * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    left -= weights[i];
    if (left < 0) return ids[i];
  }
  return ids[kept - 1];
}

}  // namespace natsl::model_adapters::native
