// The profiler on a model that costs exactly what it says, by a clock that is set.
#include "latency/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "latency/plan.h"
#include "tests/latency/fake_model.h"

namespace natsl::latency {
namespace {

using testing::HasSubstr;

ProfileOptions Quick() {
  ProfileOptions options;
  options.stopping = {
      .interval_target = 0.01, .min_samples = 6, .max_samples = 40, .max_seconds = 100};
  options.wished_steps = 16;
  return options;
}

LatencyRecord RecordOf(size_t variants) {
  LatencyRecord record;
  for (size_t i = 0; i < variants; ++i) {
    record.variants.push_back({.role = i == 0 ? "subject" : "baseline",
                               .model = "fake",
                               .label = i == 0 ? "subject" : "baseline",
                               .softmax_share = {},
                               .family = "",
                               .dtype = "",
                               .device = "cpu",
                               .weights_fingerprint = ""});
  }
  return record;
}

TEST(Profiler, EveryPhaseIsWhatItsDefinitionSays) {
  core::FakeClock clock;
  const FakeCosts costs{.step = 1e-3, .step_per_depth = 1e-6, .head = 5e-4, .first_call = 0.5};
  FakeModel model(clock, costs);
  LatencyRecord record = RecordOf(1);
  const std::vector<Point> points =
      MakePlan({.phases = {Phase::kPrefill, Phase::kFirstToken, Phase::kDecode, Phase::kEndToEnd,
                           Phase::kSample},
                .prompts = {1024},
                .depths = {100},
                .batches = {1},
                .new_tokens = 4});
  Profile(points, {{.target = {&model, nullptr}}}, Quick(), clock, record);
  ASSERT_EQ(record.measurements.size(), 5u);
  const double prefill = model.PrefillSeconds(1024);
  const Measurement& first = record.measurements[0];
  EXPECT_NEAR(first.summary.median, prefill, 1e-9);
  EXPECT_NEAR(first.cold_seconds, prefill + 0.5, 1e-9);  // apart from the statistics
  EXPECT_NEAR(first.summary.maximum, prefill, 1e-9);
  EXPECT_EQ(first.summary.count, 6);
  EXPECT_EQ(first.stopped_because, "interval");
  EXPECT_EQ(first.memory.kv_bytes, 16 * 1024);
  EXPECT_EQ(first.memory.recurrent_bytes, 128);
  EXPECT_GT(first.memory.peak_bytes.value_or(0), 0);
  EXPECT_EQ(first.memory.pass_tokens, 512);  // by the session
  EXPECT_NEAR(record.measurements[1].summary.median, prefill + 5e-4, 1e-9);
  // Tokens at depths 100 to 103, whose mean holds 101.5.
  EXPECT_NEAR(record.measurements[2].summary.median, 1e-3 + 101.5e-6, 1e-9);
  EXPECT_EQ(record.measurements[2].steps.size(), 16u);
  EXPECT_NEAR(record.measurements[2].step_summary.minimum, 1e-3 + 100e-6, 1e-9);
  EXPECT_NEAR(record.measurements[2].step_summary.maximum, 1e-3 + 103e-6, 1e-9);
  EXPECT_NEAR(record.measurements[3].summary.median,
              prefill + 3e-3 + (1024 + 1025 + 1026) * 1e-6 + 5e-4, 1e-9);
  EXPECT_NEAR(record.measurements[4].summary.median, 5e-4, 1e-9);
  // A quarter of the chunks, of this point alone.
  for (const Measurement& measurement : record.measurements) {
    ASSERT_EQ(measurement.softmax_shares.size(), 1u);
    EXPECT_EQ(measurement.softmax_shares[0].chunks,
              4 * measurement.softmax_shares[0].softmax_chunks);
  }
}

TEST(Profiler, VariantsShareRoundsInRandomOrder) {
  core::FakeClock clock;
  FakeModel subject(clock, {.noise = 0.05}, 1),
      baseline(clock, {.per_token = 2e-6, .noise = 0.05}, 2);
  LatencyRecord record = RecordOf(2);
  ProfileOptions options = Quick();
  options.stopping.interval_target = 0;
  Profile(MakePlan({.phases = {Phase::kPrefill}, .prompts = {512}, .depths = {}}),
          {{.target = {&subject, nullptr}}, {.target = {&baseline, nullptr}}}, options, clock,
          record);
  ASSERT_EQ(record.measurements.size(), 2u);
  EXPECT_EQ(record.measurements[0].rounds, record.measurements[1].rounds);
  EXPECT_EQ(record.measurements[0].stopped_because, "samples");
  EXPECT_EQ(record.measurements[0].samples.size(), 40u);
}

TEST(Profiler, AFailureKeepsWhatWasMeasured) {
  core::FakeClock clock;
  FakeModel model(clock, {.fails_at_call = 40});
  LatencyRecord record = RecordOf(1);
  int kept = 0;
  ProfileOptions options = Quick();
  options.keep = [&](const LatencyRecord&) { ++kept; };
  const std::vector<Point> points =
      MakePlan({.phases = {Phase::kPrefill}, .prompts = {512, 1024, 2048, 4096}, .depths = {}});
  try {
    Profile(points, {{.target = {&model, nullptr}}}, options, clock, record);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "pp2k: the device is gone");
  }
  // 14 calls a point: cold, six to warm up, six samples, one for memory.
  ASSERT_EQ(record.measurements.size(), 3u);
  EXPECT_EQ(record.measurements[2].stopped_because, "failure");
  EXPECT_EQ(record.measurements[2].samples.size(), 5u);
  EXPECT_EQ(record.incomplete_because, "pp2k: the device is gone");
  EXPECT_EQ(kept, 3);
}

TEST(Profiler, AStopRequestKeepsWhatWasMeasured) {
  core::FakeClock clock;
  FakeModel model(clock, {});
  LatencyRecord record = RecordOf(1);
  ProfileOptions options = Quick();
  options.stop_requested = [&] { return model.calls() >= 24; };
  Profile(MakePlan({.phases = {Phase::kPrefill}, .prompts = {512, 1024, 2048}, .depths = {}}),
          {{.target = {&model, nullptr}}}, options, clock, record);
  ASSERT_EQ(record.measurements.size(), 2u);
  EXPECT_EQ(record.measurements[1].stopped_because, "signal");
  EXPECT_EQ(record.measurements[1].samples.size(), 3u);
  EXPECT_EQ(record.incomplete_because, "stopped by a signal");
}

TEST(Profiler, TimeIsBoundedWithWhatSamplesPrepare) {
  core::FakeClock clock;
  FakeModel model(clock, {.step = 1e-3, .head = 1e-5, .fork = 0.5, .noise = 0.3});
  ProfileOptions options = Quick();
  options.stopping = {
      .interval_target = 0, .min_samples = 6, .max_samples = 2000, .max_seconds = 4};
  options.warm_up.max_seconds = 2;
  for (const Phase phase : {Phase::kDecode, Phase::kSample}) {
    LatencyRecord record = RecordOf(1);
    const int64_t begin = clock.NowNs();
    Profile(MakePlan({.phases = {phase}, .prompts = {}, .depths = {64}, .new_tokens = 1}),
            {{.target = {&model, nullptr}}}, options, clock, record);
    ASSERT_EQ(record.measurements.size(), 1u);
    EXPECT_EQ(record.measurements[0].stopped_because, "time");
    EXPECT_EQ(record.measurements[0].samples.size(), 8u);  // half a second each
    // Warm-up, samples, single steps, one for memory, each of the first three up to a fork over.
    EXPECT_LT(static_cast<double>(clock.NowNs() - begin) * 1e-9, 2.5 + 4.5 + 2.5 + 0.6);
  }
}

TEST(Profiler, ASampleLongerThanTheTimeIsTakenAsSeldomAsCanBe) {
  core::FakeClock clock;
  FakeModel model(clock, {.step = 1});
  LatencyRecord record = RecordOf(1);
  ProfileOptions options = Quick();
  options.stopping.max_seconds = 10;
  options.warm_up.max_seconds = 5;
  options.wished_steps = 256;
  Profile(MakePlan({.phases = {Phase::kDecode}, .prompts = {}, .depths = {64}, .new_tokens = 64}),
          {{.target = {&model, nullptr}}}, options, clock, record);
  ASSERT_EQ(record.measurements.size(), 1u);
  EXPECT_EQ(record.measurements[0].samples.size(), 1u);
  EXPECT_EQ(record.measurements[0].warm_up.size(), 0u);
  EXPECT_EQ(record.measurements[0].steps.size(), 5u);
  // The cold one, the sample, the one for memory, each with a step before it; then half of the time
  // for single steps, with one before them.
  EXPECT_NEAR(static_cast<double>(clock.NowNs()) * 1e-9, 3 * (1 + 64) + 1 + 5, 0.01);
}

/// Whatever the text, one token: as a vocabulary without its characters and "fuse_unk" have it.
class UnknownOnly final : public model_adapters::Tokenizer {
 public:
  std::vector<model_adapters::TokenId> Encode(std::string_view, bool) const override { return {0}; }
  std::string Decode(std::span<const model_adapters::TokenId>, bool) const override { return ""; }
  const model_adapters::SpecialTokens& special_tokens() const override { return special_; }
  int64_t vocabulary_size() const override { return 1; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::optional<int64_t> model_max_length() const override { return std::nullopt; }

 private:
  model_adapters::SpecialTokens special_;
  std::string fingerprint_;
};

TEST(Profiler, ATextWhoseTokensDontGrowIsRefused) {
  core::FakeClock clock;
  FakeModel model(clock, {});
  const UnknownOnly tokenizer;
  LatencyRecord record = RecordOf(1);
  try {
    Profile(MakePlan({.phases = {Phase::kTokenize}, .prompts = {512}, .depths = {}}),
            {{.target = {&model, &tokenizer}}}, Quick(), clock, record);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("1 tokens, and no more when it is repeated"));
  }
}

TEST(Profiler, SyntheticStatesAreRefusedWhereThereAreNone) {
  core::FakeClock clock;
  FakeModel model(clock, {});
  LatencyRecord record = RecordOf(1);
  ProfileOptions options = Quick();
  options.probe.synthetic_depth = true;
  try {
    Profile(MakePlan({.phases = {Phase::kDecode}, .prompts = {}, .depths = {4096}}),
            {{.target = {&model, nullptr}}}, options, clock, record);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("no synthetic states"));
  }
}

}  // namespace
}  // namespace natsl::latency
