// Speed of the recurrent mixers at the shapes of their families: the chunked kernels beside the
// plain float recurrence, in turns within one run, since only ratios of neighbours in time mean
// anything on a shared machine. Each row's counters, from the shortest times:
//   ms, recurrence_ms   4096 tokens of the kernel and of the recurrence;  ratio: theirs
//   vectors_ratio       the same with products by vectors instead of tiles
//   of_dense            the kernel's time over that of a 340M model's dense products in the same
//                       layer (their weights as one matrix), where the processor has matrix tiles
//   us_1k ... us_64k    microseconds a token at 1024 ... 65,536 tokens;  spread: largest / smallest
// Rows lie where the engine's tensors do (core/block_memory.h). As there, more than 8192 tokens are
// passes of so many through the same rows, the state carried on.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/block_memory.h"
#include "kernels/cpu/mixer_chunked.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/delta_rule.h"
#include "kernels/linear_attention.h"
#include "kernels/matmul.h"
#include "kernels/scan.h"

namespace natsl::kernels {
namespace {

constexpr int64_t kCompareTokens = 4096, kLongest = 65536, kPassTokens = 8192;
constexpr int kRuns = 5, kRounds = 3;

enum class Form { kKernel, kVectors, kRecurrence };

template <typename T>
struct BlockAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    void* const block = Blocks().Allocate(count * sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { Blocks().Free(block); }
  bool operator==(const BlockAllocator&) const { return true; }

 private:
  static core::BlockMemory& Blocks() {
    static core::BlockMemory blocks;
    return blocks;
  }
};
using Floats = std::vector<float, BlockAllocator<float>>;

/// Runs `tokens` tokens, from position `first` on, by `form`.
using Run = std::function<void(int64_t first, int64_t tokens, Form form)>;

double Seconds(const Run& run, int64_t tokens, Form form) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t first = 0; first < tokens; first += kPassTokens) {
    run(first, std::min(tokens - first, kPassTokens), form);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Floats Normals(int64_t count, float scale) {
  std::mt19937_64 engine(count);
  std::normal_distribution<float> normal(0, scale);
  Floats values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

/// The dense products of one layer of `parameters` weights for kCompareTokens tokens.
class LayerProducts {
 public:
  explicit LayerProducts(int64_t parameters)
      : x_(Normals(kCompareTokens * kHidden, 1)),
        weight_(Normals(parameters / kHidden * kHidden, 1)) {
    args_.x = x_.data();
    args_.x_stride = args_.k = kHidden;
    args_.weight = weight_.data();
    args_.m = kCompareTokens;
    args_.n = args_.y_stride = parameters / kHidden;
    y_.resize(static_cast<size_t>(args_.m * args_.n));
    args_.y = y_.data();
    Validate(args_);
  }

  double Seconds() const {
    const auto start = std::chrono::steady_clock::now();
    RunMatmulCpu(args_);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static constexpr int64_t kHidden = 1024;
  Floats x_, weight_, y_;
  GemvArgs args_;
};

void Compare(benchmark::State& bench, const Run& run, bool has_forms, int64_t layer_parameters) {
  double kernel = 1e30, vectors = 1e30, recurrence = 1e30, dense = 1e30;
  std::optional<LayerProducts> products;
  if (MatmulUsable()) products.emplace(layer_parameters);
  std::map<int64_t, double> a_token = {{1024, 1e30}, {4096, 1e30}, {16384, 1e30}, {65536, 1e30}};
  for (auto _ : bench) {
    // In turns, so that none is always the first to read what the long runs left uncached.
    for (int round = 0; round < kRounds; ++round) {
      kernel = std::min(kernel, Seconds(run, kCompareTokens, Form::kKernel));
      if (products) dense = std::min(dense, products->Seconds());
      if (!has_forms) continue;
      recurrence = std::min(recurrence, Seconds(run, kCompareTokens, Form::kRecurrence));
      vectors = std::min(vectors, Seconds(run, kCompareTokens, Form::kVectors));
    }
    double total = 0;
    for (auto& [tokens, best] : a_token) {
      // As much work at each length.
      for (int64_t i = 0; i < kLongest / tokens && i < 8; ++i) {
        const double seconds = Seconds(run, tokens, Form::kKernel);
        best = std::min(best, seconds / static_cast<double>(tokens));
        total += seconds;
      }
    }
    bench.SetIterationTime(total);
  }
  bench.counters["ms"] = kernel * 1e3;
  if (has_forms) {
    bench.counters["recurrence_ms"] = recurrence * 1e3;
    bench.counters["ratio"] = recurrence / kernel;
    bench.counters["vectors_ratio"] = recurrence / vectors;
  }
  if (products) bench.counters["of_dense"] = kernel / dense;
  double low = 1e30, high = 0;
  for (const auto& [tokens, seconds] : a_token) {
    bench.counters["us_" + std::to_string(tokens / 1024) + "k"] = seconds * 1e6;
    low = std::min(low, seconds);
    high = std::max(high, seconds);
  }
  bench.counters["spread"] = high / low;
}

Floats LogDecays(int64_t count) {
  Floats values = Normals(count, 0.1f);
  for (float& value : values) value = -std::abs(value);
  return values;
}

int64_t ColumnBlocks(int64_t value_dim) { return (value_dim + kUnitColumns - 1) / kUnitColumns; }

void DeltaRule(benchmark::State& bench, int64_t heads, int64_t key_dim, int64_t value_dim,
               bool nats, int64_t layer_parameters) {
  constexpr int64_t tokens = kPassTokens;
  int64_t offsets[] = {0, tokens};
  const float unit = 1 / std::sqrt(static_cast<float>(key_dim));
  const auto q = Normals(tokens * heads * key_dim, unit),
             k = Normals(tokens * heads * key_dim, unit);
  const auto v = Normals(tokens * heads * value_dim, 1), g = LogDecays(tokens * heads);
  const Floats beta(static_cast<size_t>(tokens * heads), 0.5f);
  Floats o(v.size()), state(static_cast<size_t>(heads * key_dim * value_dim));
  Floats chunk_start(state.size()), chunk_log_decay(static_cast<size_t>(heads));
  std::vector<uint8_t> keep(static_cast<size_t>((tokens / kPageTokens + 1) * heads));
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = i % 3 == 0;
  float* states[] = {state.data()};
  NatsDeltaState nats_state{chunk_start.data(), chunk_log_decay.data(), 0, keep.data()};
  DeltaRuleArgs args;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.g = g.data();
  args.beta = beta.data();
  args.o = o.data();
  args.q_stride = args.k_stride = heads * key_dim;
  args.v_stride = heads * value_dim;
  args.states = states;
  args.nats = nats ? &nats_state : nullptr;
  args.decay_over_softmax_chunks = true;
  args.offsets = offsets;
  args.sequences = 1;
  args.heads = args.value_heads = heads;
  args.key_dim = key_dim;
  args.value_dim = value_dim;
  args.scale = unit;
  Validate(args);
  const auto run = [&](int64_t first, int64_t count, Form form) {
    offsets[1] = count;
    nats_state.first_position = first;
    if (form == Form::kKernel) {
      RunDeltaRuleCpu(args);
    } else if (form == Form::kVectors) {
      RunDeltaRuleBy(args, ChunkProducts::kVectors);
    } else {
      RunDeltaRuleRecurrence(
          args, PartitionMixer(offsets, 1, heads, ColumnBlocks(value_dim), PieceLength::kAny));
    }
    benchmark::DoNotOptimize(o.data());
  };
  Compare(bench, run, true, layer_parameters);
}

struct LinearShape {
  const char* name;
  int64_t heads, qk_heads, key_dim, value_dim;
  DecayKind decay;
  bool bonus;
  int64_t layer_parameters;
};

void LinearAttention(benchmark::State& bench, const LinearShape& shape) {
  constexpr int64_t tokens = kPassTokens;
  int64_t offsets[] = {0, tokens};
  const int64_t qk = shape.qk_heads * shape.key_dim, values = shape.heads * shape.value_dim;
  const auto q = Normals(tokens * qk, 1), k = Normals(tokens * qk, 1);
  const auto v = Normals(tokens * values, 1);
  const auto g = LogDecays(shape.decay == DecayKind::kVectorPerToken   ? tokens * qk
                           : shape.decay == DecayKind::kScalarPerToken ? tokens * shape.heads
                                                                       : shape.heads);
  const auto bonus = Normals(shape.heads * shape.key_dim, 1);
  Floats o(v.size()), state(static_cast<size_t>(shape.key_dim * values));
  float* states[] = {state.data()};
  LinearAttentionArgs args;
  args.q = q.data();
  args.k = k.data();
  args.v = v.data();
  args.g = g.data();
  args.decay = shape.decay;
  args.bonus = shape.bonus ? bonus.data() : nullptr;
  args.o = o.data();
  args.q_stride = args.k_stride = qk;
  args.v_stride = values;
  args.states = states;
  args.offsets = offsets;
  args.sequences = 1;
  args.heads = args.v_heads = shape.heads;
  args.q_heads = args.kv_heads = shape.qk_heads;
  args.key_dim = shape.key_dim;
  args.value_dim = shape.value_dim;
  Validate(args);
  const auto run = [&](int64_t, int64_t count, Form form) {
    offsets[1] = count;
    if (form == Form::kKernel) {
      RunLinearAttentionCpu(args);
    } else if (form == Form::kVectors) {
      RunLinearAttentionBy(args, ChunkProducts::kVectors);
    } else {
      RunLinearAttentionRecurrence(
          args, PartitionMixer(offsets, 1, shape.heads, ColumnBlocks(shape.value_dim),
                               PieceLength::kAny));
    }
    benchmark::DoNotOptimize(o.data());
  };
  Compare(bench, run, true, shape.layer_parameters);
}

void Scan(benchmark::State& bench, int64_t channels, int64_t layer_parameters) {
  constexpr int64_t tokens = kPassTokens;
  int64_t offsets[] = {0, tokens};
  const auto x = Normals(tokens * channels, 1), g = LogDecays(tokens * channels);
  Floats o(x.size()), state(static_cast<size_t>(channels));
  float* states[] = {state.data()};
  ScanArgs args;
  args.x = x.data();
  args.g = g.data();
  args.o = o.data();
  args.states = states;
  args.offsets = offsets;
  args.sequences = 1;
  args.channels = channels;
  Validate(args);
  // The kernel is the vectorised recurrence: there is nothing to compare it with.
  const auto run = [&](int64_t, int64_t count, Form) {
    offsets[1] = count;
    RunScanCpu(args);
    benchmark::DoNotOptimize(o.data());
  };
  Compare(bench, run, false, layer_parameters);
}

void Register(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Iterations(kRuns)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const bool registered = [] {
  for (const bool nats : {false, true}) {
    Register(nats ? "nats_l_6x128x256" : "gated_delta_net_6x128x256",
             [nats](benchmark::State& bench) { DeltaRule(bench, 6, 128, 256, nats, 14967052); });
  }
  constexpr auto kVector = DecayKind::kVectorPerToken;
  for (const LinearShape& shape :
       {LinearShape{"gla_4x128x256", 4, 4, 128, 256, kVector, false, 12870400},
        {"hgrn2_8x128x128", 8, 8, 128, 128, kVector, false, 12846080},
        {"retnet_4x256x512", 4, 4, 256, 512, DecayKind::kScalarPerHead, false, 13107712},
        {"mamba2_32x128x64", 32, 1, 128, 64, DecayKind::kScalarPerToken, false, 6600032},
        {"rwkv6_4x128x256", 4, 4, 128, 256, kVector, true, 13020160}}) {
    Register(shape.name, [shape](benchmark::State& bench) { LinearAttention(bench, shape); });
  }
  Register("hgrn_1024", [](benchmark::State& bench) { Scan(bench, 1024, 12846080); });
  return true;
}();

}  // namespace
}  // namespace natsl::kernels
