// The native model's speed on the CPU, as ratios within one run: prefill against LibTorch's matrix
// product alone on the same shapes, decode against the memory's bandwidth.
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <benchmark/benchmark.h>
#include <c10/core/InferenceMode.h>
#include <omp.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/files.h"
#include "kernels/delta_rule.h"
#include "kernels/paged_attention.h"
#include "model_adapters/native/native_model.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::model_adapters::native {
namespace {

constexpr int64_t kTokens = 2048;
constexpr int64_t kLayers = 12;

struct Subject {
  const char* family_keys;
};
constexpr Subject kTransformer = {R"("model_type": "transformer", "num_heads": 12)"};
constexpr Subject kGatedDeltaNet = {
    R"("model_type": "gated_deltanet", "num_heads": 6, "head_dim": 96)"};

/// 12 layers, 768 wide, vocabulary 32,000.
std::filesystem::path WriteConfig(const Subject& subject) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("natsl_native_benchmark_{}", omp_get_wtime());
  std::filesystem::create_directories(folder);
  core::WriteFileAtomic(folder / "config.json",
                        fmt::format(R"({{"vocab_size": 32000, "hidden_size": 768,
                          "num_hidden_layers": {}, {}}})",
                                    kLayers, subject.family_keys));
  return folder;
}

std::unique_ptr<NativeModel> Open(const std::filesystem::path& folder, const char* dtype) {
  OpenOptions options;
  options.dtype = dtype;
  options.random_weights_seed = 1;
  return OpenModel(folder.string(), options);
}

std::vector<TokenId> Ids(int64_t count) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>(i * 7919 % 32000));
  return ids;
}

double Seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Best(int runs, const std::function<void()>& body) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) best = std::min(best, Seconds(body));
  return best;
}

/// The layers' matrix products alone, [kTokens, in] x [in, out] for each weight.
double DenseSeconds(const ModelSpec& spec) {
  const c10::InferenceMode guard;
  std::vector<at::Tensor> weights;
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    if (slot.shape.size() == 2 && slot.slot.starts_with("layers.")) {
      weights.push_back(at::rand(slot.shape));
    }
  }
  const at::Tensor wide = at::rand({kTokens, 8192});
  return Best(3, [&] {
    for (const at::Tensor& weight : weights) {
      const at::Tensor x = wide.as_strided({kTokens, weight.size(1)}, {weight.size(1), 1});
      benchmark::DoNotOptimize(at::mm(x, weight.t()).data_ptr());
    }
  });
}

/// One layer's mixing kernel alone.
double AttentionSeconds(const AttentionSpec& spec) {
  const int64_t width = spec.heads * spec.head_dim;
  std::vector<float> q(static_cast<size_t>(kTokens * width), 0.01f), o(q.size());
  std::vector<std::vector<float>> pages;
  std::vector<const void*> list;
  for (int64_t p = 0; p < kTokens / kernels::kPageTokens; ++p) {
    pages.emplace_back(static_cast<size_t>(spec.kv_heads * kernels::kPageTokens * spec.head_dim),
                       0.02f);
    list.push_back(pages.back().data());
  }
  std::vector<kernels::AttentionBlock> blocks;
  for (int64_t row = 0; row < kTokens; row += kernels::kPageTokens) {
    blocks.push_back({row, kernels::kPageTokens, 0, row, list.data(), list.data()});
  }
  kernels::PagedAttentionArgs args;
  args.q = q.data();
  args.o = o.data();
  args.q_stride = args.o_stride = width;
  args.blocks = blocks.data();
  args.block_count = static_cast<int64_t>(blocks.size());
  args.query_heads = spec.heads;
  args.kv_heads_per_group = spec.kv_heads;
  args.key_dim = args.value_dim = spec.head_dim;
  args.scale = spec.scale;
  return Best(3, [&] { kernels::RunPagedAttentionCpu(args); });
}

double DeltaSeconds(const DeltaNetSpec& spec) {
  const auto floats = [](int64_t count, float value) {
    return std::vector<float>(static_cast<size_t>(count), value);
  };
  const int64_t keys = spec.heads * spec.key_dim, values = spec.value_heads * spec.value_dim;
  const auto q = floats(kTokens * keys, 0.1f), k = floats(kTokens * keys, 0.1f);
  const auto v = floats(kTokens * values, 0.1f);
  const auto g = floats(kTokens * spec.value_heads, -0.05f);
  const auto beta = floats(kTokens * spec.value_heads, 0.5f);
  auto o = floats(kTokens * values, 0), state = floats(spec.key_dim * values, 0);
  float* states[] = {state.data()};
  const int64_t offsets[] = {0, kTokens};
  kernels::DeltaRuleArgs args;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.q_stride = args.k_stride = keys;
  args.v_stride = values;
  args.g = g.data();
  args.beta = beta.data();
  args.o = o.data();
  args.states = states;
  args.offsets = offsets;
  args.sequences = 1;
  args.heads = spec.heads;
  args.value_heads = spec.value_heads;
  args.key_dim = spec.key_dim;
  args.value_dim = spec.value_dim;
  return Best(3, [&] { kernels::RunDeltaRuleCpu(args); });
}

double MixerSeconds(const MixerSpec& mixer) {
  if (const auto* attention = std::get_if<AttentionSpec>(&mixer))
    return AttentionSeconds(*attention);
  return DeltaSeconds(std::get<DeltaNetSpec>(mixer));
}

/// `of_mm`: time of the products alone over the prefill's (1 would be a model of products alone).
/// `mixer_share`: the mixing kernels' part of the prefill.
void Prefill(benchmark::State& state, const Subject& subject) {
  const auto folder = WriteConfig(subject);
  const auto model = Open(folder, "float32");
  const ModelSpec spec = LoadModelSpec(folder);
  std::filesystem::remove_all(folder);
  const std::vector<TokenId> ids = Ids(kTokens);
  model->NewSession(1)->Prefill(ids);
  double best = 1e30, dense = 1e30;
  for (auto _ : state) {
    dense = std::min(dense, DenseSeconds(spec));
    const double seconds = Seconds([&] { model->NewSession(1)->Prefill(ids); });
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  const double mixing = static_cast<double>(kLayers) * MixerSeconds(spec.layers[0].mixer);
  state.counters["of_mm"] = dense / best;
  state.counters["mixer_share"] = mixing / best;
  state.counters["tokens/s"] = static_cast<double>(kTokens) / best;
}
BENCHMARK_CAPTURE(Prefill, transformer, kTransformer)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Prefill, gated_deltanet, kGatedDeltaNet)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

/// Bytes a second of all cores reading a buffer that no cache holds. Independent sums a lane, so
/// that the memory is the limit and not the latency of an addition.
double ReadBandwidth() {
  constexpr int64_t kLanes = 64;
  const std::vector<float> buffer(size_t{1} << 28, 1.0f);
  const int64_t blocks = static_cast<int64_t>(buffer.size()) / kLanes;
  const double seconds = Best(7, [&] {
#pragma omp parallel
    {
      std::array<float, kLanes> sums{};
#pragma omp for schedule(static)
      for (int64_t b = 0; b < blocks; ++b) {
        const float* block = buffer.data() + b * kLanes;
#pragma omp simd
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          sums[static_cast<size_t>(lane)] += block[lane];
        }
      }
      benchmark::DoNotOptimize(sums);
    }
  });
  return static_cast<double>(blocks * kLanes) * sizeof(float) / seconds;
}

/// `of_bandwidth`: bytes of weights that a step reads, over its time, over the measured bandwidth.
void Decode(benchmark::State& state, const Subject& subject, const char* dtype) {
  const auto folder = WriteConfig(subject);
  const auto model = Open(folder, dtype);
  std::filesystem::remove_all(folder);
  const double bandwidth = ReadBandwidth();
  const auto session = model->NewSession(1);
  session->Prefill(Ids(128));
  session->Decode(2);
  double best = 1e30;
  for (auto _ : state) {
    const double seconds = Seconds([&] { session->Decode(1); });
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  const auto bytes = static_cast<double>(model->step_weight_bytes());
  state.counters["of_bandwidth"] = bytes / best / bandwidth;
  state.counters["GB/s"] = bytes / best * 1e-9;
  state.counters["bandwidth_GB/s"] = bandwidth * 1e-9;
}
BENCHMARK_CAPTURE(Decode, transformer_float32, kTransformer, "float32")
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decode, transformer_bfloat16, kTransformer, "bfloat16")
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decode, gated_deltanet_float32, kGatedDeltaNet, "float32")
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace natsl::model_adapters::native
