// What a sequence keeps and what a long prefill needs: the spec's prediction against the engine's
// own count, and the process's peak memory.
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "model_adapters/spec/accounting.h"
#include "model_adapters/spec/checkpoint.h"
#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {
namespace {

class Memory : public testing::TestWithParam<TinyModel> {};

TEST_P(Memory, StateIsWhatTheSpecPredicts) {
  constexpr int64_t kLength = 128, kFloatBytes = 4;  // whole pages
  const auto model = OpenTiny(GetParam());
  const ModelSpec spec = ParseModelSpec(TinyConfig(GetParam()), "config.json");
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(kLength, 1));
  const StateBytes measured = session->StateBytes();
  const StateBytes predicted = StateBytesAt(spec, kLength, kFloatBytes, 1);
  EXPECT_EQ(measured.recurrent, predicted.recurrent);
  EXPECT_EQ(measured.convolution, predicted.convolution);
  bool window = false, nats = false;
  for (const LayerSpec& layer : spec.layers) {
    const auto* attention = std::get_if<AttentionSpec>(&layer.mixer);
    window = window || (attention != nullptr && attention->window.has_value());
    nats = nats || std::holds_alternative<NatsSpec>(layer.mixer);
  }
  if (nats) {
    // Of the chunks the prediction has all, the engine those that it kept.
    EXPECT_LE(measured.kv, predicted.kv);
  } else if (window) {
    // Pages that the window has left in part stay.
    EXPECT_GE(measured.kv, predicted.kv);
    EXPECT_LE(measured.kv, StateBytesAt(spec, 2 * kLength, kFloatBytes, 1).kv * 8);
  } else {
    EXPECT_EQ(measured.kv, predicted.kv);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Memory, testing::ValuesIn(TinyModels()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Peak resident bytes since the last ResetPeak().
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lld", &kilobytes) == 1) return kilobytes * 1024;
  }
  return 0;
}

bool ResetPeak() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << 5 << std::flush;
  return clear.good();
}

TEST(TensorMemory, LargeTensorsTakeTurnsInTheSameBlock) {
  const auto model = OpenTiny(Tiny("gated_deltanet"), {});
  if (c10::GetCPUAllocator() == c10::GetDefaultCPUAllocator()) {
    GTEST_SKIP() << "AddressSanitizer watches the system's allocator";
  }
  constexpr int64_t kFloats = int64_t{3} << 20;
  void* first = nullptr;
  {
    const at::Tensor tensor = at::zeros({kFloats}, at::kFloat);
    first = tensor.data_ptr();
  }
  const at::Tensor again = at::ones({kFloats - 1000}, at::kFloat);
  EXPECT_EQ(again.data_ptr(), first);
  EXPECT_NE(at::empty({kFloats}, at::kFloat).data_ptr(), first);
  model->ReleaseSpareMemory();
  EXPECT_EQ(again.sum().item<float>(), static_cast<float>(kFloats - 1000));
  try {
    at::empty({int64_t{1} << 46}, at::kFloat);
    ADD_FAILURE() << "there is no such memory";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("allocate memory"), std::string::npos);
  }
}

class LongPrefill : public testing::TestWithParam<const char*> {};

TEST_P(LongPrefill, NeedsTheMemoryOfOnePackedBatch) {
  constexpr int64_t kLength = 65536;
  OpenOptions options;
  options.batch_tokens = 2048;
  const auto model = OpenTiny(Tiny(GetParam()), options);
  model->NewSession(1)->Prefill(RandomIds(4096, 1));
  if (!ResetPeak()) GTEST_SKIP() << "/proc/self/clear_refs can't be written";
  model->NewSession(1)->Prefill(RandomIds(4096, 1));
  const int64_t before = PeakBytes();
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(kLength, 2));
  const int64_t growth = PeakBytes() - before;
  // A state a token would be gigabytes; a hidden vector a token and layer 48 MB.
  EXPECT_GT(kLength * session->StateBytes().recurrent, int64_t{1} << 28);
  EXPECT_LT(growth, int64_t{12} << 20);
}

INSTANTIATE_TEST_SUITE_P(Linear, LongPrefill,
                         testing::Values("gated_deltanet", "mamba2_norm_before_gate", "rwkv6"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::model_adapters::native
