// Intervals and tests against values of published tables and of SciPy, and what has no value.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/statistics/distributions.h"
#include "core/statistics/mann_whitney.h"
#include "core/statistics/paired_tests.h"
#include "core/statistics/proportion.h"
#include "core/statistics/resampling.h"

namespace natsl::core::statistics {
namespace {

void ExpectRelative(double value, double expected, double tolerance = 1e-12) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
}

TEST(DistributionTest, KnownValues) {
  ExpectRelative(NormalQuantile(0.975), 1.959963984540054);
  ExpectRelative(NormalQuantile(1e-10), -6.361340902404056);
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-15);
  ExpectRelative(NormalTail(1.959963984540054), 0.025);
  ExpectRelative(BetaCdf(0.3, 2, 5), 0.579825);
  ExpectRelative(BinomialCdf(3, 10, 0.5), 176.0 / 1024);
  ExpectRelative(StudentTwoSided(2.0, 1), 2 * (0.5 - std::atan(2.0) / 3.14159265358979323846));
  ExpectRelative(ChiSquareTail(3.841458820694124), 0.05);
  ExpectRelative(BetaQuantile(0.025, 1, 1), 0.025);
  ExpectRelative(BetaCdf(BetaQuantile(0.1, 3.5, 80), 3.5, 80), 0.1);
}

TEST(ProportionTest, KnownIntervals) {
  ExpectRelative(WilsonInterval(263, 500).low.value(), 0.4822016483694956);
  ExpectRelative(WilsonInterval(263, 500).high.value(), 0.5694018859265038);
  ExpectRelative(ClopperPearsonInterval(263, 500).low.value(), 0.48119000623236496, 1e-10);
  ExpectRelative(ClopperPearsonInterval(0, 10).high.value(), 1 - std::pow(0.025, 0.1));
  EXPECT_EQ(ClopperPearsonInterval(0, 10).low.value(), 0);
  EXPECT_FALSE(WilsonInterval(0, 0).low.has_value());
  EXPECT_FALSE(ClopperPearsonInterval(3, 2).low.has_value());
}

TEST(PairedTestsTest, McNemar) {
  ExpectRelative(McNemarExact(9, 1).p_value.value(), 22.0 / 1024);
  EXPECT_EQ(McNemarExact(0, 0).p_value.value(), 1);
  EXPECT_EQ(McNemarExact(1, 1).p_value.value(), 1);
  ExpectRelative(McNemarChiSquare(9, 1).statistic.value(), 4.9);
  EXPECT_FALSE(McNemarChiSquare(0, 0).p_value.has_value());
}

TEST(PairedTestsTest, SignsRanksAndT) {
  const std::vector<double> differences = {1.1, -0.3, 0.9, 2.5, 0.4};
  // All 32 patterns: the observed sum of positive sizes 4.9 is exceeded by 5.2 alone.
  EXPECT_EQ(SignFlipPValue(differences).value(), 2 * 2.0 / 32);
  EXPECT_EQ(WilcoxonSignedRank(differences).statistic.value(), 1);
  EXPECT_EQ(WilcoxonSignedRank(differences).p_value.value(), 2 * 2.0 / 32);
  EXPECT_FALSE(PairedTTest(std::vector<double>{1}).p_value.has_value());
  EXPECT_FALSE(SignFlipPValue(std::vector<double>{1}).has_value());
}

TEST(MannWhitneyTest, ExactAndNormal) {
  const std::vector<double> x = {19, 22, 16, 29, 24}, y = {20, 11, 17, 12};
  EXPECT_EQ(MannWhitney(x, y).statistic.value(), 17);
  ExpectRelative(MannWhitney(x, y).p_value.value(), 1.0 / 9);
  ExpectRelative(
      MannWhitney(x, y, Alternative::kTwoSided, MannWhitneyMethod::kAsymptotic).p_value.value(),
      0.11134688653314041, 1e-10);
  EXPECT_FALSE(MannWhitney({}, y).p_value.has_value());
}

TEST(ResamplingTest, SeededAndIndependentOfThreads) {
  const std::vector<double> a = {1, 0, 1, 1, 0, 1, 1, 0}, b = {0, 0, 1, 0, 1, 1, 0, 0};
  const auto one = PairedBootstrap(a, b, 0.05, 20000, 7, 1);
  const auto many = PairedBootstrap(a, b, 0.05, 20000, 7, 5);
  EXPECT_EQ(one.error.value(), many.error.value());
  EXPECT_EQ(one.interval.low.value(), many.interval.low.value());
  EXPECT_NE(one.error.value(), PairedBootstrap(a, b, 0.05, 20000, 8).error.value());
  // Population deviation of the differences over sqrt(8).
  EXPECT_NEAR(one.error.value(), std::sqrt((4.0 / 8 - 1.0 / 16) / 8), 0.005);
  EXPECT_FALSE(PairedBootstrap(a, {}, 0.05).error.has_value());
}

}  // namespace
}  // namespace natsl::core::statistics
