// The rules of when to stop, against a clock that is set.
#include "latency/stopping.h"

#include <gtest/gtest.h>

#include "core/python_random.h"

namespace natsl::latency {
namespace {

TEST(WarmUp, EndsWhenTwoWindowsAgree) {
  core::FakeClock clock;
  WarmUp warm_up({.window = 3, .agreement = 0.05, .max_runs = 30, .max_seconds = 100}, clock);
  // Cold; a window at 2 s, one at 1.5 s, one at 1.5 s: only the last two agree.
  for (const double seconds : {9.0, 2.0, 2.0, 2.0, 1.5, 1.5, 1.5, 1.5, 1.5}) {
    warm_up.Add(seconds);
    EXPECT_FALSE(warm_up.done());
  }
  warm_up.Add(1.5);
  EXPECT_TRUE(warm_up.done());
  EXPECT_TRUE(warm_up.agreed());
  EXPECT_EQ(warm_up.runs().size(), 10u);
  EXPECT_EQ(warm_up.runs().front(), 9.0);
}

TEST(WarmUp, GivesUpAtItsLimits) {
  core::FakeClock clock;
  WarmUp by_runs({.window = 2, .agreement = 0.01, .max_runs = 7, .max_seconds = 100}, clock);
  double seconds = 1;
  while (!by_runs.done()) by_runs.Add(seconds *= 1.5);
  EXPECT_EQ(by_runs.runs().size(), 7u);
  EXPECT_FALSE(by_runs.agreed());
  WarmUp by_time({.window = 2, .agreement = 0.01, .max_runs = 100, .max_seconds = 5}, clock);
  clock.Advance(2'000'000'000);
  by_time.Add(2);
  EXPECT_FALSE(by_time.done());
  clock.Advance(3'000'000'000);
  by_time.Add(3);
  EXPECT_TRUE(by_time.done());
}

TEST(SamplingRule, EqualSamplesStopAsSoonAsThereIsAnInterval) {
  SamplingRule rule({.interval_target = 0.01, .min_samples = 6});
  for (int i = 0; i < 5; ++i) {
    rule.Add(1, 1e-3);
    EXPECT_FALSE(rule.done());
  }
  rule.Add(1, 1e-3);
  EXPECT_TRUE(rule.done());
  EXPECT_EQ(rule.reason(), "interval");
  EXPECT_EQ(rule.half_width(), 0);
}

TEST(SamplingRule, GoesOnUntilTheIntervalIsNarrow) {
  core::PythonRandom random(3);
  SamplingRule rule(
      {.interval_target = 0.01, .min_samples = 6, .max_samples = 100000, .max_seconds = 1e9});
  int64_t samples = 0;
  while (!rule.done()) {
    rule.Add(1 + 0.2 * (random.Random() - 0.5), 1);
    ++samples;
  }
  EXPECT_EQ(rule.reason(), "interval");
  EXPECT_LE(rule.half_width(), 0.01);
  // Uniform in +-10 %: the interval's half width is about 0.1 * 1.96 / sqrt(n), 1 % at n = 384;
  // looking at it often stops earlier.
  EXPECT_GT(samples, 60);
  EXPECT_LT(samples, 800);
}

TEST(SamplingRule, StopsAtTheTimeAndAtTheNumberOfSamples) {
  SamplingRule by_time({.interval_target = 0, .max_seconds = 10, .wished_samples = 3});
  double seconds = 1;
  int64_t samples = 0;
  while (!by_time.done()) {
    by_time.Add(seconds += 0.1, 1);
    ++samples;
  }
  EXPECT_EQ(by_time.reason(), "time");
  EXPECT_EQ(samples, 10);
  SamplingRule by_samples({.interval_target = 0, .max_samples = 20, .max_seconds = 1e9});
  for (samples = 0; !by_samples.done(); ++samples) by_samples.Add(seconds += 0.1, 1);
  EXPECT_EQ(by_samples.reason(), "samples");
  EXPECT_EQ(samples, 20);
}

TEST(SamplingRule, SlowSamplesGetALittleMoreTime) {
  SamplingRule three({.interval_target = 0.01, .max_seconds = 10, .wished_samples = 3});
  three.Add(9, 9);
  three.Add(9, 9);
  EXPECT_FALSE(three.done());
  three.Add(9, 9);
  EXPECT_EQ(three.reason(), "time");
  SamplingRule one({.interval_target = 0.01, .max_seconds = 10, .wished_samples = 3});
  one.Add(40, 40);
  EXPECT_EQ(one.reason(), "time");
}

}  // namespace
}  // namespace natsl::latency
