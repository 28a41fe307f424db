// Speed of the recurrent mixers at the shapes of their families: the chunked kernels, and the plain
// float recurrence that they are compared with. items = tokens. Arguments: tokens.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/delta_rule.h"
#include "kernels/linear_attention.h"
#include "kernels/scan.h"

namespace natsl::kernels {
namespace {

constexpr int64_t kCompareTokens = 4096;
const std::vector<int64_t> kTokens = {1024, 4096, 16384, 65536};

enum class Form { kKernel, kRecurrence };

std::vector<float> Normals(int64_t count, float scale) {
  std::mt19937_64 engine(count);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

std::vector<float> LogDecays(int64_t count) {
  std::vector<float> values = Normals(count, 0.1f);
  for (float& value : values) value = -std::abs(value);
  return values;
}

int64_t ColumnBlocks(int64_t value_dim) { return (value_dim + kUnitColumns - 1) / kUnitColumns; }

void DeltaRule(benchmark::State& bench, int64_t heads, int64_t key_dim, int64_t value_dim,
               bool nats, Form form) {
  const int64_t tokens = bench.range(0), offsets[] = {0, tokens};
  const float unit = 1 / std::sqrt(static_cast<float>(key_dim));
  const auto q = Normals(tokens * heads * key_dim, unit),
             k = Normals(tokens * heads * key_dim, unit);
  const auto v = Normals(tokens * heads * value_dim, 1), g = LogDecays(tokens * heads);
  const std::vector<float> beta(static_cast<size_t>(tokens * heads), 0.5f);
  std::vector<float> o(v.size()), state(static_cast<size_t>(heads * key_dim * value_dim));
  std::vector<float> chunk_start(state.size()), chunk_log_decay(static_cast<size_t>(heads));
  std::vector<uint8_t> keep(static_cast<size_t>((tokens / kPageTokens + 1) * heads));
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = i % 3 == 0;
  float* states[] = {state.data()};
  const NatsDeltaState nats_state{chunk_start.data(), chunk_log_decay.data(), 0, keep.data()};
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
  for (auto _ : bench) {
    if (form == Form::kKernel) {
      RunDeltaRuleCpu(args);
    } else {
      RunDeltaRuleRecurrence(
          args, PartitionMixer(offsets, 1, heads, ColumnBlocks(value_dim), PieceLength::kAny));
    }
    benchmark::DoNotOptimize(o.data());
  }
  bench.SetItemsProcessed(bench.iterations() * tokens);
}

struct LinearShape {
  const char* name;
  int64_t heads, qk_heads, key_dim, value_dim;
  DecayKind decay;
  bool bonus;
};

void LinearAttention(benchmark::State& bench, const LinearShape& shape, Form form) {
  const int64_t tokens = bench.range(0), offsets[] = {0, tokens};
  const int64_t qk = shape.qk_heads * shape.key_dim, values = shape.heads * shape.value_dim;
  const auto q = Normals(tokens * qk, 1), k = Normals(tokens * qk, 1);
  const auto v = Normals(tokens * values, 1);
  const auto g = LogDecays(shape.decay == DecayKind::kVectorPerToken   ? tokens * qk
                           : shape.decay == DecayKind::kScalarPerToken ? tokens * shape.heads
                                                                       : shape.heads);
  const auto bonus = Normals(shape.heads * shape.key_dim, 1);
  std::vector<float> o(v.size()), state(static_cast<size_t>(shape.key_dim * values));
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
  for (auto _ : bench) {
    if (form == Form::kKernel) {
      RunLinearAttentionCpu(args);
    } else {
      RunLinearAttentionRecurrence(
          args, PartitionMixer(offsets, 1, shape.heads, ColumnBlocks(shape.value_dim),
                               PieceLength::kAny));
    }
    benchmark::DoNotOptimize(o.data());
  }
  bench.SetItemsProcessed(bench.iterations() * tokens);
}

void Scan(benchmark::State& bench, int64_t channels) {
  const int64_t tokens = bench.range(0), offsets[] = {0, tokens};
  const auto x = Normals(tokens * channels, 1), g = LogDecays(tokens * channels);
  std::vector<float> o(x.size()), state(static_cast<size_t>(channels));
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
  for (auto _ : bench) {
    RunScanCpu(args);
    benchmark::DoNotOptimize(o.data());
  }
  bench.SetItemsProcessed(bench.iterations() * tokens);
  bench.SetBytesProcessed(bench.iterations() * tokens * channels * 12);
}

// Registers `name/recurrence` at one length and `name` at all of them.
template <typename Run>
void Register(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark((name + "/recurrence").c_str(),
                               [run](benchmark::State& bench) { run(bench, Form::kRecurrence); })
      ->Arg(kCompareTokens)
      ->UseRealTime();
  auto* kernel = benchmark::RegisterBenchmark(
      name.c_str(), [run](benchmark::State& bench) { run(bench, Form::kKernel); });
  for (const int64_t tokens : kTokens) kernel->Arg(tokens);
  kernel->UseRealTime();
}

[[maybe_unused]] const bool registered = [] {
  for (const bool nats : {false, true}) {
    Register(
        nats ? "nats_l_6x128x256" : "gated_delta_net_6x128x256",
        [nats](benchmark::State& bench, Form form) { DeltaRule(bench, 6, 128, 256, nats, form); });
  }
  constexpr auto kVector = DecayKind::kVectorPerToken;
  for (const LinearShape& shape :
       {LinearShape{"gla_4x128x256", 4, 4, 128, 256, kVector, false},
        {"hgrn2_8x128x128", 8, 8, 128, 128, kVector, false},
        {"retnet_4x256x512", 4, 4, 256, 512, DecayKind::kScalarPerHead, false},
        {"mamba2_32x128x64", 32, 1, 128, 64, DecayKind::kScalarPerToken, false},
        {"rwkv6_4x128x256", 4, 4, 128, 256, kVector, true}}) {
    Register(shape.name,
             [shape](benchmark::State& bench, Form form) { LinearAttention(bench, shape, form); });
  }
  auto* scan =
      benchmark::RegisterBenchmark("hgrn_1024", [](benchmark::State& bench) { Scan(bench, 1024); });
  for (const int64_t tokens : kTokens) scan->Arg(tokens);
  scan->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace natsl::kernels
