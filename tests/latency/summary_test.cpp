// Statistics of samples, fits, crossovers and the scaling check.
#include "latency/record/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/latency/example_record.h"

namespace natsl::latency {
namespace {

using testing::HasSubstr;
using Outcome = ScalingVerdict::Outcome;

TEST(Summarize, TellsOnlyWhatTheSamplesSupport) {
  const Summary few = Summarize(std::vector<double>{3, 1, 2});
  EXPECT_EQ(few.median, 2);
  EXPECT_EQ(few.minimum, 1);
  EXPECT_EQ(few.maximum, 3);
  EXPECT_EQ(few.deviation, 1);
  EXPECT_FALSE(few.low || few.p90 || few.p99);
  std::vector<double> many;
  for (int i = 1; i <= 1000; ++i) many.push_back(i);
  const Summary full = Summarize(many);
  EXPECT_EQ(full.median, 500.5);
  EXPECT_EQ(*full.low, 469);  // the binomial's rank for n = 1000
  EXPECT_EQ(*full.high, 532);
  EXPECT_NEAR(*full.p90, 900.1, 1e-9);
  EXPECT_NEAR(*full.p99, 990.01, 1e-9);
  EXPECT_EQ(Summarize({}).count, 0);
}

TEST(CompareVariants, PairsRoundsAndLeavesOutLonelyOnes) {
  const Point point{.prompt = 1024};
  const Measurement subject = ExampleMeasurement(0, point, {1, 2, 1, 2, 1, 2, 9});
  Measurement baseline = ExampleMeasurement(1, point, {1.5, 3, 1.5, 3, 1.5, 3});
  const SpeedUp ratio = CompareVariants(subject, baseline, 0);
  EXPECT_NEAR(ratio.ratio, 1.5, 1e-12);
  EXPECT_NEAR(*ratio.low, 1.5, 1e-12);
  EXPECT_NEAR(*ratio.high, 1.5, 1e-12);
  baseline.rounds.assign(6, 99);
  EXPECT_EQ(CompareVariants(subject, baseline, 0).ratio, 0);
}

TEST(Analyze, FitsCrossesAndCompares) {
  // The subject is linear with a high fixed cost, the baseline quadratic: they meet where
  // 2e-3 + 1e-6 L = 1e-4 + 1e-6 L + 1e-9 L^2, at L = sqrt(1.9e6) = 1378.4.
  LatencyRecord record = ExampleRecord(
      {512, 1024, 2048, 4096, 8192}, [](double l) { return 2e-3 + 1e-6 * l; },
      [](double l) { return 1e-4 + 1e-6 * l + 1e-9 * l * l; });
  Analyze(record);
  ASSERT_EQ(record.fits.size(), 2u);
  EXPECT_NEAR(record.fits[0].b, 1e-6, 1e-12);
  EXPECT_NEAR(record.fits[1].c, 1e-9, 1e-14);
  ASSERT_EQ(record.crossovers.size(), 1u);
  ASSERT_TRUE(record.crossovers[0].length.has_value());
  EXPECT_NEAR(*record.crossovers[0].length, 1378.4, 0.1);
  EXPECT_EQ(record.crossovers[0].text, "beyond 1378 tokens");
  ASSERT_EQ(record.speed_ups.size(), 5u);
  EXPECT_NEAR(record.speed_ups[4].ratio, (1e-4 + 8.192e-3 + 67.108864e-3) / 10.192e-3, 1e-9);
}

TEST(Analyze, SaysWhereThereIsNoCrossover) {
  const auto slow = [](double l) { return 2e-6 * l; };
  const auto fast = [](double l) { return 1e-6 * l; };
  LatencyRecord record = ExampleRecord({512, 1024, 2048}, fast, slow);
  Analyze(record);
  EXPECT_EQ(record.crossovers.at(0).text, "at every length measured");
  record = ExampleRecord({512, 1024, 2048}, slow, fast);
  Analyze(record);
  EXPECT_EQ(record.crossovers.at(0).text, "at no length measured");
  EXPECT_FALSE(record.crossovers.at(0).length.has_value());
  record = ExampleRecord({512, 1024}, slow, fast);
  Analyze(record);
  EXPECT_EQ(record.crossovers.at(0).text, "too few lengths for a fit");
}

TEST(CheckScaling, HoldsBreaksAndDoubts) {
  const auto check = [](const std::vector<int64_t>& lengths, double exponent, double expected,
                        double wobble = 0) {
    LatencyRecord record = ExampleRecord(
        lengths,
        [&](double l) {
          return 1e-6 * std::pow(l, exponent) * (1 + (std::fmod(std::log2(l), 2) < 1 ? wobble : 0));
        },
        [](double l) { return l; });
    Analyze(record);
    return CheckScaling(record, expected);
  };
  const std::vector<int64_t> lengths = {1024, 2048, 4096, 8192, 16384};
  EXPECT_EQ(check(lengths, 1.02, 1).outcome, Outcome::kHolds);
  EXPECT_EQ(check(lengths, 1.6, 1).outcome, Outcome::kBroken);
  EXPECT_EQ(check(lengths, 1.9, 2).outcome, Outcome::kHolds);
  EXPECT_EQ(check(lengths, 2.4, 2).outcome, Outcome::kBroken);
  EXPECT_EQ(check(lengths, 1.1, 1, 0.3).outcome, Outcome::kUndecided);
  EXPECT_EQ(check({1024, 2048}, 1, 1).outcome, Outcome::kUndecided);
  EXPECT_THAT(check(lengths, 1.6, 1).text, HasSubstr("subject: prefill grows as L^1.600"));
  EXPECT_EQ(CheckScaling(LatencyRecord{}, 1).outcome, Outcome::kUndecided);
}

TEST(CheckScaling, FixedCostsOfShortPromptsDontHideGrowth) {
  // Quadratic beyond a fixed cost that dominates the short half.
  LatencyRecord record = ExampleRecord(
      {64, 128, 256, 512, 1024, 2048, 4096, 8192}, [](double l) { return 1e-3 + 1e-8 * l * l; },
      [](double l) { return l; });
  Analyze(record);
  EXPECT_EQ(CheckScaling(record, 1).outcome, Outcome::kBroken);
}

}  // namespace
}  // namespace natsl::latency
