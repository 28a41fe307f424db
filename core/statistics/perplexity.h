// Perplexities and bits per byte over documents, as the reference harness aggregates them.
#pragma once

#include <span>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

/// A document's log-probability (or sum) and what it counts: words, bytes, items.
struct Weighted {
  double sum = 0;
  double count = 0;
};

/// exp(-mean(x)) over log-probabilities. None for nothing, and where finite log-probabilities
/// overflow (an infinite loss gives infinity).
Estimate Perplexity(std::span<const double> log_probs);

/// sum of sums / sum of counts. None for nothing and for a count of 0.
Estimate WeightedMean(std::span<const Weighted> items);

/// exp(-WeightedMean). None as both above.
Estimate WeightedPerplexity(std::span<const Weighted> items);

/// -WeightedMean / ln 2. None as WeightedMean.
Estimate BitsPerByte(std::span<const Weighted> items);

}  // namespace natsl::core::statistics
