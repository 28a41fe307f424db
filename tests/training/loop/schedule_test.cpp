// Learning rates and curricula.
#include "training/loop/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace natsl::training {
namespace {

TEST(LearningRate, RisesThenFallsAlongHalfACosine) {
  const ScheduleOptions options{.steps = 105, .warmup = 4, .lr = 1.0, .min_lr = 0.2};
  EXPECT_DOUBLE_EQ(LearningRate(options, 0), 0.25);
  EXPECT_DOUBLE_EQ(LearningRate(options, 3), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(options, 4), 1.0);
  EXPECT_NEAR(LearningRate(options, 54), 0.6, 1e-12);  // halfway
  EXPECT_NEAR(LearningRate(options, 29), 0.2 + 0.8 * (2 + std::sqrt(2.0)) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(LearningRate(options, 104), 0.2);
}

TEST(Curriculum, SharesTheStepsOut) {
  const auto phases = ParseCurriculum("256*4,512*2,2048", 70);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].context, 256);
  EXPECT_EQ(phases[0].end, 40);
  EXPECT_EQ(phases[1].begin, 40);
  EXPECT_EQ(phases[1].end, 60);
  EXPECT_EQ(phases[2].end, 70);
  EXPECT_EQ(PhaseOf(phases, 39).context, 256);
  EXPECT_EQ(PhaseOf(phases, 40).context, 512);
  EXPECT_EQ(PhaseOf(phases, 69).context, 2048);
  EXPECT_EQ(ParseCurriculum("128", 3)[0].end, 3);
}

TEST(Curriculum, RefusesWhatIsNoLength) {
  for (const char* text : {"", "256,", "8", "256*0", "256*x", "a", "256**2", "-256"}) {
    EXPECT_THROW(ParseCurriculum(text, 10), Error) << text;
  }
}

}  // namespace
}  // namespace natsl::training
