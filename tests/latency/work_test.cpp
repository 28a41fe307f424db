// Operations, bytes and memory of points, against sums by hand; the host's rates.
#include "latency/work.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "latency/canary.h"
#include "latency/environment.h"
#include "latency/host_memory.h"
#include "latency/profiler.h"
#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::latency {
namespace {

using model_adapters::FlopsPerToken;
using model_adapters::ModelSpec;

ModelSpec Spec(const std::string& type) {
  return model_adapters::ParseModelSpec(
      R"({"vocab_size":32,"hidden_size":16,"num_hidden_layers":2,"intermediate_size":24,
          "num_heads":2,"model_type":")" +
          type + "\"}",
      "config.json");
}

TEST(Work, PrefillIsTheSumOverItsTokens) {
  const ModelSpec spec = Spec("transformer");
  for (const int64_t prompt : {1, 200, 5000}) {
    double flops = 0;
    for (int64_t context = 1; context <= prompt; ++context) {
      const auto token = FlopsPerToken(spec, context, 1);
      flops += token.total() - token.head;
    }
    const Work work = WorkOf(spec, {.phase = Phase::kPrefill, .batch = 3, .prompt = prompt}, {});
    EXPECT_NEAR(work.flops, 3 * flops, 1e-9 * flops) << prompt;
  }
}

TEST(Work, BytesOfPrefillAndStep) {
  const ModelSpec spec = Spec("transformer");
  // Two layers: q, k, v, o 16x16; three MLP matrices 24x16; norms 2x16; and the final norm.
  const double body = 4.0 * (2 * (4 * 256 + 3 * 384 + 32) + 16);
  const double kv = 4.0 * 2 * 2 * 16;  // a token: keys and values of two layers
  const Storage storage{.batch_tokens = 100};
  const Work prefill = WorkOf(spec, {.phase = Phase::kPrefill, .batch = 2, .prompt = 150}, storage);
  EXPECT_EQ(prefill.bytes, 3 * body + 2 * 150 * kv);  // 300 tokens are three passes
  const Point decode{.phase = Phase::kDecode, .batch = 2, .depth = 1000, .new_tokens = 10};
  const Work step = WorkOf(spec, decode, storage);
  EXPECT_EQ(step.bytes, body + 4.0 * 32 * 16 + 2 * 1006 * kv);
  EXPECT_EQ(step.flops, 2 * FlopsPerToken(spec, 1006, 1).total());
  EXPECT_EQ(LengthNeeded(decode), 1010);
}

TEST(Work, ForecastCountsWeightsStatesAndActivations) {
  const ModelSpec spec = Spec("transformer");
  const Point small{.phase = Phase::kPrefill, .prompt = 1024};
  const Point large{.phase = Phase::kPrefill, .batch = 8, .prompt = 131072};
  const Forecast one = ForecastOf(spec, small, {}), many = ForecastOf(spec, large, {});
  EXPECT_EQ(one.weights_bytes, 4 * CountParameters(spec).total());
  EXPECT_EQ(one.state_bytes, 1024 * 256);
  EXPECT_EQ(many.state_bytes, int64_t{8} * 131072 * 256);
  EXPECT_GT(many.activations_bytes, one.activations_bytes);
  EXPECT_LT(many.activations_bytes, 9 * one.activations_bytes);  // bounded by batch_tokens
  EXPECT_EQ(FormatBytes(many.state_bytes), "256.0 MiB");
  EXPECT_EQ(many.required(), many.weights_bytes + many.state_bytes + many.activations_bytes);
  // Longer passes where there is memory for them, the shorter ones all the same where there isn't.
  const Forecast wide = ForecastOf(spec, large, {.batch_tokens = 65536, .least_pass_tokens = 8192});
  EXPECT_GT(wide.activations_bytes, 7 * many.activations_bytes);
  EXPECT_EQ(wide.least_activations_bytes, many.activations_bytes);
  EXPECT_EQ(wide.required(), many.required());
  // In bfloat16 on a device activations are half as wide; a row of logits isn't.
  const Forecast half = ForecastOf(spec, small, {.weight_bytes_each = 2, .state_bytes_each = 2});
  EXPECT_EQ(2 * half.activations_bytes, one.activations_bytes + 2 * 32 * 4);
}

TEST(Roofline, LimitAndShares) {
  const ModelSpec spec = Spec("gated_deltanet");
  Measurement measurement;
  measurement.point = {.phase = Phase::kPrefill, .prompt = 100};
  measurement.summary.median = 1;
  const Work work = WorkOf(spec, measurement.point, {});
  const Roofline roofline =
      RooflineOf(&spec, {}, measurement, CanaryRates{2 * work.flops, 4 * work.bytes});
  EXPECT_DOUBLE_EQ(*roofline.compute_share, 0.5);
  EXPECT_DOUBLE_EQ(*roofline.bandwidth_share, 0.25);
  EXPECT_DOUBLE_EQ(*roofline.limit_seconds, 0.5);
  EXPECT_FALSE(RooflineOf(&spec, {}, measurement, std::nullopt).limit_seconds.has_value());
  // Weights are read as often as the session had passes.
  measurement.memory.pass_tokens = 25;
  const Work four = WorkOf(spec, measurement.point, {.batch_tokens = 25});
  EXPECT_GT(four.bytes, work.bytes);
  EXPECT_EQ(RooflineOf(&spec, {}, measurement, std::nullopt).bytes, four.bytes);
  EXPECT_NE(RooflineOf(nullptr, {}, measurement, std::nullopt).absent, "");
}

/// A machine so busy that every look at the clock is two seconds after the last.
class BusyClock final : public core::Clock {
 public:
  int64_t NowNs() const override { return ++looks_ * 2'000'000'000; }
  int64_t looks() const { return looks_; }

 private:
  mutable int64_t looks_ = 0;
};

TEST(Host, RatesEndOnABusyMachineAndWhereTheClockStandsStill) {
  const BusyClock busy;
  const CanaryRates rates = MeasureHost(1, busy);
  EXPECT_GT(rates.flops_per_second, 0);
  EXPECT_GT(rates.bytes_per_second, 0);
  // Of each of the two: the start, the first run, one repeat, and that the time is up.
  EXPECT_EQ(busy.looks(), 2 * (1 + 2 + 2 + 1));
  const core::FakeClock still;
  EXPECT_EQ(MeasureHost(1, still).flops_per_second, 0);  // RooflineOf: not measured
}

TEST(Host, RatesAndMemoryAreThere) {
  const core::SteadyClock clock;
  const CanaryRates rates = MeasureHost(1, clock);
  // Any core of the last fifteen years lies between these.
  EXPECT_GT(rates.flops_per_second, 5e8);
  EXPECT_LT(rates.flops_per_second, 1e12);
  EXPECT_GT(rates.bytes_per_second, 2e8);
  EXPECT_LT(rates.bytes_per_second, 2e12);
  const auto memory = ReadProcessMemory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GE(memory->peak_bytes, memory->resident_bytes);
  EXPECT_GT(AvailableMemory().value_or(0), 0);
  const Machine machine = DescribeHost();
  EXPECT_GE(machine.cores, 1);
  EXPECT_FALSE(machine.host.empty());
}

TEST(Host, PeakSeesWhatWasFreed) {
  if (!ResetPeakMemory()) GTEST_SKIP() << "the kernel doesn't let the high-water mark be reset";
  const auto before = ReadProcessMemory();
  constexpr size_t kBytes = size_t{64} << 20;
  {
    std::vector<char> block(kBytes, 1);
    __asm__ volatile("" : : "r"(block.data()) : "memory");
  }
  TrimHeap();
  const auto after = ReadProcessMemory();
  EXPECT_GT(after->peak_bytes - before->resident_bytes, int64_t{60} << 20);
  EXPECT_LT(after->resident_bytes - before->resident_bytes, int64_t{30} << 20);
}

TEST(Gpu, AbsenceIsExplained) {
  std::string why;
  EXPECT_EQ(OpenGpuCounters("cpu", why), nullptr);
  EXPECT_EQ(why, "the model runs on cpu");
}

}  // namespace
}  // namespace natsl::latency
