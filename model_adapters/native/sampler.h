// The choice of a next token from logits. Deterministic: same seed, same choices.
#pragma once

#include <cstdint>
#include <span>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters::native {

/// SplitMix64 (a counter through a 64-bit mixer): uniform doubles in [0, 1) with 53 bits.
class Random {
 public:
  explicit Random(uint64_t seed) : counter_(seed) {}
  double Uniform();

 private:
  uint64_t counter_;
};

/// What is chosen of logits that aren't numbers: nothing.
constexpr TokenId kNoToken = -1;

/// The lowest id of the largest logit.
TokenId Argmax(std::span<const float> logits);

/// Greedy where the temperature is 0. Otherwise softmax(logits / temperature) over the top_k most
/// likely ids and, of those, the fewest whose probability reaches top_p; one uniform number a call.
/// Ids of equal logits rank by id. kNoToken where a logit isn't a number.
TokenId Sample(std::span<const float> logits, const Sampling& sampling, Random& random);

}  // namespace natsl::model_adapters::native
