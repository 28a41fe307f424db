// Lines of the progress display under a clock that is set.
#include "evaluators/progress.h"

#include <gtest/gtest.h>

namespace natsl::evaluators {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Progress, DurationsAreShort) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(59 * kSecond), "59s");
  EXPECT_EQ(FormatDuration(185 * kSecond), "3m05s");
  EXPECT_EQ(FormatDuration(7440 * kSecond), "2h04m");
}

TEST(Progress, PlainLinesEveryFewSecondsWithTimeLeftByWeight) {
  core::FakeClock clock;
  std::string out;
  Progress progress(ProgressStyle::kPlain, clock, [&](const std::string& text) { out += text; });
  progress.Begin("loglikelihood", 10, 100);
  clock.Advance(kSecond);
  progress.Advance(1, 10, 50);
  EXPECT_EQ(out, "");
  clock.Advance(4 * kSecond);
  progress.Advance(1, 10, 50);
  EXPECT_EQ(out, "loglikelihood: 2/10 requests, 20 tokens/s, 20s left\n");
  clock.Advance(5 * kSecond);
  progress.Advance(8, 80, 900);
  progress.End();
  EXPECT_EQ(out.substr(out.rfind('\n', out.size() - 2) + 1),
            "loglikelihood: 10/10 requests, 100 tokens/s, 10s\n");
}

TEST(Progress, LiveLineIsRewrittenAndKeptNotesStandAlone) {
  core::FakeClock clock;
  std::string out;
  Progress progress(ProgressStyle::kLive, clock, [&](const std::string& text) { out += text; });
  progress.Begin("x", 2, 2);
  clock.Advance(kSecond);
  progress.Advance(1, 1, 0);
  EXPECT_EQ(out, "\r\x1b[Kx: 1/2 requests, 1s left");
  progress.Note("note");
  EXPECT_EQ(out, "\r\x1b[Kx: 1/2 requests, 1s left\nnote\n");
}

TEST(Progress, QuietSaysNothing) {
  core::FakeClock clock;
  std::string out;
  Progress progress(ProgressStyle::kQuiet, clock, [&](const std::string& text) { out += text; });
  progress.Begin("x", 1, 1);
  clock.Advance(100 * kSecond);
  progress.Advance(1, 1, 1);
  progress.Note("note");
  progress.End();
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace natsl::evaluators
