// Tests of paired outcomes.
#include "core/statistics/paired_tests.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/statistics/descriptive.h"
#include "core/statistics/distributions.h"
#include "core/statistics/ranks.h"

namespace natsl::core::statistics {
namespace {

/// Twice the smaller tail of sum(weights of the positive signs) over all patterns of signs, values
/// within rounding of the observed one counted on both sides.
double SignPatternPValue(std::span<const double> weights, double observed) {
  const double tolerance = std::abs(observed) * 100 * std::numeric_limits<double>::epsilon();
  const uint64_t patterns = uint64_t{1} << weights.size();
  // Sums of half of the signs each, so that a pattern costs one addition.
  const size_t half = weights.size() / 2;
  const auto sums_of = [](std::span<const double> part) {
    std::vector<double> sums = {0};
    for (const double weight : part) {
      const size_t count = sums.size();
      for (size_t i = 0; i < count; ++i) sums.push_back(sums[i] + weight);
    }
    return sums;
  };
  const auto low = sums_of(weights.subspan(0, half)), high = sums_of(weights.subspan(half));
  uint64_t at_most = 0, at_least = 0;
  for (const double a : high) {
    for (const double b : low) {
      at_most += a + b <= observed + tolerance ? 1 : 0;
      at_least += a + b >= observed - tolerance ? 1 : 0;
    }
  }
  return std::min(
      1.0, 2.0 * static_cast<double>(std::min(at_most, at_least)) / static_cast<double>(patterns));
}

/// P(W <= w) and P(W >= w) of the signed-rank sum of n untied values, the smaller.
double ExactRankTail(double w, size_t n) {
  const size_t top = n * (n + 1) / 2;
  std::vector<double> ways(top + 1);
  ways[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank) {
    for (size_t sum = top; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  const auto observed = static_cast<size_t>(w);
  double below = 0, above = 0;
  for (size_t sum = 0; sum <= top; ++sum) {
    if (sum <= observed) below += ways[sum];
    if (sum >= observed) above += ways[sum];
  }
  return std::min(below, above) / std::ldexp(1.0, static_cast<int>(n));
}

}  // namespace

TestResult McNemarExact(int64_t only_a, int64_t only_b) {
  const int64_t least = std::min(only_a, only_b), n = only_a + only_b;
  const double p = n == 0 ? 1 : std::min(1.0, 2 * BinomialCdf(least, n, 0.5));
  return {static_cast<double>(least), p};
}

TestResult McNemarChiSquare(int64_t only_a, int64_t only_b, double correction) {
  if (only_a + only_b == 0) {
    const auto none = Estimate::None("no document on which the systems differ");
    return {none, none};
  }
  const double excess = std::abs(static_cast<double>(only_a - only_b)) - correction;
  const double statistic = excess * excess / static_cast<double>(only_a + only_b);
  return {statistic, ChiSquareTail(statistic)};
}

TestResult PairedTTest(std::span<const double> differences) {
  const Estimate error = MeanStandardError(differences);
  if (!error.has_value()) return {error, error};
  const double t = Mean(differences).value() / error.value();
  return {t, StudentTwoSided(t, static_cast<double>(differences.size() - 1))};
}

Estimate SignFlipPValue(std::span<const double> differences) {
  if (differences.size() < 2) return Estimate::None("fewer than two pairs");
  if (differences.size() > 24) return Estimate::None("too many pairs for all patterns of signs");
  // Flipping the sign of d changes the sum by 2 d: the tails of the sum of the |d| with a positive
  // sign are those of the mean.
  std::vector<double> weights;
  double observed = 0;
  for (const double difference : differences) {
    weights.push_back(std::abs(difference));
    if (difference > 0) observed += difference;
  }
  return SignPatternPValue(weights, observed);
}

TestResult WilcoxonSignedRank(std::span<const double> differences) {
  if (differences.empty()) {
    const auto none = Estimate::None("no pairs");
    return {none, none};
  }
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (difference == 0) continue;
    sizes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  const Ranks ranks = RanksOf(sizes);
  double plus = 0, minus = 0;
  for (size_t i = 0; i < sizes.size(); ++i) (positive[i] ? plus : minus) += ranks.ranks[i];
  const bool clean = !ranks.ties && sizes.size() == differences.size();
  const double statistic = std::min(plus, minus);
  if (differences.size() <= 50 && clean) {
    return {statistic, std::min(1.0, 2 * ExactRankTail(plus, sizes.size()))};
  }
  if (differences.size() <= 13) return {statistic, SignPatternPValue(ranks.ranks, plus)};
  const auto n = static_cast<double>(sizes.size());
  const double variance = (n * (n + 1) * (2 * n + 1) - ranks.tie_term / 2) / 24;
  const double z = (plus - n * (n + 1) / 4) / std::sqrt(variance);
  return {statistic, 2 * NormalTail(std::abs(z))};
}

}  // namespace natsl::core::statistics
