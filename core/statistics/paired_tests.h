// Tests of paired outcomes: is system A better than system B on the same documents?
#pragma once

#include <cstdint>
#include <span>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

struct TestResult {
  Estimate statistic;
  Estimate p_value;  ///< two-sided
};

/// McNemar's exact test. only_a, only_b: documents that one system alone gets right. Statistic
/// min(only_a, only_b); p = min(1, 2 P(X <= statistic)), X ~ Binomial(only_a + only_b, 1/2); 1 for
/// no such document.
TestResult McNemarExact(int64_t only_a, int64_t only_b);
/// (|only_a - only_b| - correction)^2 / (only_a + only_b) against chi-square(1). None without such
/// documents. correction: 1 (Edwards) or 0.
TestResult McNemarChiSquare(int64_t only_a, int64_t only_b, double correction = 1);

/// Student's test of the differences' mean. None for fewer than two pairs.
TestResult PairedTTest(std::span<const double> differences);

/// All 2^n patterns of signs of the differences: twice the smaller tail of the mean, at most 1.
/// None for fewer than two or more than 24 pairs.
Estimate SignFlipPValue(std::span<const double> differences);

/// Wilcoxon's signed ranks, zeros left out; statistic min(W+, W-). Exact without zeros and ties up
/// to 50 pairs; with them exact by signs up to 13 pairs; else by the normal approximation with tie
/// correction. None for no pair.
TestResult WilcoxonSignedRank(std::span<const double> differences);

}  // namespace natsl::core::statistics
