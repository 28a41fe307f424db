// Intervals of the median, ratios, and fits of growth, against exact values.
#include "core/statistics/order_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/python_random.h"
#include "core/statistics/regression.h"

namespace natsl::core::statistics {
namespace {

std::vector<double> Counting(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

// Ranks from the binomial table: n = 6 takes the extremes (96.9 %), n = 9 x(2), x(8) (96.1 %),
// n = 20 x(6), x(15) (95.9 %).
TEST(MedianInterval, TakesTheRanksOfTheBinomial) {
  EXPECT_FALSE(MedianInterval(Counting(5)).low.has_value());
  EXPECT_EQ(MedianInterval(Counting(6)).low.value(), 1);
  EXPECT_EQ(MedianInterval(Counting(6)).high.value(), 6);
  EXPECT_EQ(MedianInterval(Counting(9)).low.value(), 2);
  EXPECT_EQ(MedianInterval(Counting(9)).high.value(), 8);
  EXPECT_EQ(MedianInterval(Counting(20)).low.value(), 6);
  EXPECT_EQ(MedianInterval(Counting(20)).high.value(), 15);
  EXPECT_FALSE(MedianInterval({}).low.has_value());
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
  PythonRandom random(7);
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 15; ++i) values.push_back(-std::log(1 - random.Random()));
    std::sort(values.begin(), values.end());
    const Interval interval = MedianInterval(values);
    covered += interval.low.value() <= std::log(2.0) && std::log(2.0) <= interval.high.value();
  }
  // The exact coverage of x(4), x(12) of 15 is 96.48 %; three deviations are 1.2 %.
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.9648, 0.0125);
}

TEST(SupportedQuantile, NeedsTenValuesBeyond) {
  EXPECT_FALSE(SupportedQuantile(Counting(99), 0.9).has_value());
  EXPECT_NEAR(SupportedQuantile(Counting(100), 0.9).value(), 90.1, 1e-9);
  EXPECT_FALSE(SupportedQuantile(Counting(999), 0.99).has_value());
  EXPECT_TRUE(SupportedQuantile(Counting(1000), 0.99).has_value());
}

TEST(MedianRatio, IsExactOfConstantsAndSeeded) {
  const std::vector<double> two(8, 2.0), four(8, 4.0);
  const RatioEstimate ratio = MedianRatio(four, two);
  EXPECT_EQ(ratio.ratio.value(), 2);
  EXPECT_EQ(ratio.interval.low.value(), 2);
  EXPECT_EQ(ratio.interval.high.value(), 2);
  EXPECT_FALSE(MedianRatio(std::vector<double>(5, 1.0), two).interval.low.has_value());
  EXPECT_FALSE(MedianRatio(two, std::vector<double>(8, 0.0)).ratio.has_value());
  const std::vector<double> spread = Counting(15);
  EXPECT_EQ(MedianRatio(spread, two, 0.95, 500, 3).interval.high.value(),
            MedianRatio(spread, two, 0.95, 500, 3).interval.high.value());
}

TEST(PairedMedianRatio, CancelsASharedDrift) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) {
    const double drift = 1 + 0.05 * i;
    a.push_back(1.2 * drift);
    b.push_back(drift);
  }
  const RatioEstimate paired = PairedMedianRatio(a, b);
  EXPECT_NEAR(paired.interval.low.value(), 1.2, 1e-12);
  EXPECT_NEAR(paired.interval.high.value(), 1.2, 1e-12);
  const RatioEstimate apart = MedianRatio(a, b);
  EXPECT_GT(apart.interval.high.value() - apart.interval.low.value(), 0.3);
}

TEST(FitPower, FindsTheExponent) {
  std::vector<double> x = {1024, 2048, 4096, 8192}, y;
  for (const double value : x) y.push_back(3e-6 * std::pow(value, 1.5));
  const PowerFit exact = FitPower(x, y);
  EXPECT_NEAR(exact.exponent.value(), 1.5, 1e-12);
  EXPECT_NEAR(exact.interval.high.value(), 1.5, 1e-6);
  // Residuals +-r on equally spaced logarithms: slope and error by hand.
  y = {1, 2 * std::exp(0.1), 4 * std::exp(-0.1), 8};
  const PowerFit noisy = FitPower(x, y);
  const double unit = std::log(2.0);
  const double slope = 1 - 0.1 * unit / (5 * unit * unit);
  EXPECT_NEAR(noisy.exponent.value(), slope, 1e-12);
  EXPECT_GT(noisy.interval.high.value(), 1);
  EXPECT_FALSE(FitPower(std::vector<double>{8, 8}, std::vector<double>{1, 2}).exponent.has_value());
  EXPECT_FALSE(
      FitPower(std::vector<double>{8, 16}, std::vector<double>{1, 2}).interval.low.has_value());
}

TEST(FitQuadratic, RecoversAPolynomialAndHasNoNegativePart) {
  const std::vector<double> x = {512, 1024, 2048, 4096, 8192};
  std::vector<double> y;
  for (const double value : x) y.push_back(0.01 + 2e-5 * value + 3e-9 * value * value);
  const QuadraticFit fit = FitQuadratic(x, y);
  ASSERT_TRUE(fit.valid);
  EXPECT_NEAR(fit.coefficients[0], 0.01, 1e-9);
  EXPECT_NEAR(fit.coefficients[1], 2e-5, 1e-12);
  EXPECT_NEAR(fit.coefficients[2], 3e-9, 1e-15);
  EXPECT_LT(fit.largest_error, 1e-9);
  for (size_t i = 0; i < x.size(); ++i) y[i] = std::sqrt(x[i]);  // concave: c would be negative
  const QuadraticFit concave = FitQuadratic(x, y);
  ASSERT_TRUE(concave.valid);
  for (const double coefficient : concave.coefficients) EXPECT_GE(coefficient, 0);
  EXPECT_FALSE(FitQuadratic(std::vector<double>{1, 2}, std::vector<double>{1, 2}).valid);
}

TEST(StudentQuantile, MatchesTheTable) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 1e-3);
  EXPECT_NEAR(StudentQuantile(0.05, 4), 2.776, 1e-3);
  EXPECT_NEAR(StudentQuantile(0.05, 30), 2.042, 1e-3);
}

}  // namespace
}  // namespace natsl::core::statistics
