// Speed of gemv, attention, norms, short convolution and rotary embedding on the processor, beside
// the machine's own limits measured by the same program: bytes read a second and multiply-adds a
// second. The counters give GB/s or GFLOP/s and the share of the limit.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/gemv.h"
#include "kernels/norm.h"
#include "kernels/paged_attention.h"
#include "kernels/rope.h"
#include "kernels/short_conv.h"

namespace natsl::kernels {
namespace {

using Floats = std::vector<float>;

/// Cheap values in [-1, 1) without patterns that matter to the kernels.
Floats Values(int64_t count) {
  Floats values(static_cast<size_t>(count));
  uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

/// The same as 16-bit floats: the upper halves are bfloat16; as float16 they are finite too once
/// the exponent's highest bit is cleared.
std::vector<uint16_t> Halves(int64_t count, DType dtype) {
  std::vector<uint16_t> halves;
  for (const float value : Values(count)) {
    const auto upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    halves.push_back(dtype == DType::kBFloat16 ? upper : upper & 0xBFFF);
  }
  return halves;
}

double BestSeconds(int repetitions, const std::function<void()>& body) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// Sums `data` on all cores; the best that a kernel which reads everything once can do.
float ReadAll(const Floats& data) {
  constexpr int64_t kBlock = 65536;
  const auto blocks = static_cast<int64_t>(data.size()) / kBlock;
  float total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (int64_t block = 0; block < blocks; ++block) {
    const float* p = data.data() + block * kBlock;
    float sums[64] = {};
    for (int64_t i = 0; i < kBlock; i += 64) {
      for (int64_t j = 0; j < 64; ++j) sums[j] += p[i + j];
    }
    for (const float sum : sums) total += sum;
  }
  return total;
}

/// Bytes read a second by all cores from `megabytes` of memory.
double ReadBandwidth(int64_t megabytes) {
  const Floats data(static_cast<size_t>(megabytes) * 262144, 1.0F);
  return static_cast<double>(data.size()) * 4 /
         BestSeconds(9, [&] { benchmark::DoNotOptimize(ReadAll(data)); });
}

void SetReadShare(benchmark::State& state, double bytes) {
  static const double kLimit = ReadBandwidth(256);
  const double total = bytes * static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters["of_read"] = benchmark::Counter(total / kLimit, benchmark::Counter::kIsRate);
}

void SetFlops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(
      flops * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void MemoryRead(benchmark::State& state) {
  const Floats data(static_cast<size_t>(state.range(0)) * 262144, 1.0F);
  for (auto _ : state) benchmark::DoNotOptimize(ReadAll(data));
  SetReadShare(state, static_cast<double>(data.size()) * 4);
}
BENCHMARK(MemoryRead)->Arg(12)->Arg(100)->Arg(200)->UseRealTime()->ArgName("MB");

void Gemv(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  GemvArgs args;
  args.m = state.range(1);
  args.n = state.range(2);
  args.k = state.range(3);
  const bool wide = dtype == DType::kFloat32;
  const Floats floats = Values(wide ? args.n * args.k : 0);
  const std::vector<uint16_t> halves = Halves(wide ? 0 : args.n * args.k, dtype);
  const Floats x = Values(args.m * args.k);
  Floats y(static_cast<size_t>(args.m * args.n));
  args.x = x.data();
  args.x_stride = args.k;
  args.weight = wide ? static_cast<const void*>(floats.data()) : halves.data();
  args.weight_dtype = dtype;
  args.y = y.data();
  args.y_stride = args.n;
  Validate(args);
  for (auto _ : state) {
    RunGemvCpu(args);
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(core::Name(dtype)));
  SetReadShare(state, static_cast<double>(args.n * args.k * core::ByteSize(dtype)));
  SetFlops(state, 2.0 * static_cast<double>(args.m * args.n * args.k));
}
void GemvShapes(benchmark::internal::Benchmark* benchmark) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    for (const int64_t m : {1, 4, 16}) {
      benchmark->Args({static_cast<int64_t>(dtype), m, 3072, 1024});
      benchmark->Args({static_cast<int64_t>(dtype), m, 50304, 768});
    }
    benchmark->Args({static_cast<int64_t>(dtype), 1, 50304, 1024});
  }
}
BENCHMARK(Gemv)->Apply(GemvShapes)->ArgNames({"dtype", "m", "n", "k"})->UseRealTime();

void Convert(benchmark::State& state) {
  const int64_t count = 32 << 20;
  const std::vector<uint16_t> source(static_cast<size_t>(count), 0x3F80);
  Floats target(static_cast<size_t>(count));
  for (auto _ : state) {
    ConvertToFloat32(source.data(), static_cast<DType>(state.range(0)), target.data(), count);
    benchmark::ClobberMemory();
  }
  SetReadShare(state, static_cast<double>(count) * 6);
}
BENCHMARK(Convert)
    ->Arg(static_cast<int64_t>(DType::kBFloat16))
    ->Arg(static_cast<int64_t>(DType::kFloat16))
    ->ArgName("dtype")
    ->UseRealTime();

/// A sequence of `past` keys and `tokens` queries behind them.
struct AttentionProblem {
  AttentionProblem(int64_t past, int64_t tokens, int64_t kv_heads, int64_t shared, int64_t key_dim,
                   int64_t value_dim, int64_t window)
      : q(Values(tokens * kv_heads * shared * key_dim)),
        o(static_cast<size_t>(tokens * kv_heads * shared * value_dim)) {
    const int64_t pages = (past + tokens + kPageTokens - 1) / kPageTokens;
    keys = Values(pages * kv_heads * kPageTokens * key_dim);
    values = Values(pages * kv_heads * kPageTokens * value_dim);
    for (int64_t page = 0; page < pages; ++page) {
      key_pages.push_back(keys.data() + page * kv_heads * kPageTokens * key_dim);
      value_pages.push_back(values.data() + page * kv_heads * kPageTokens * value_dim);
    }
    for (int64_t first = 0; first < tokens; first += kPageTokens) {
      AttentionBlock block;
      block.query_row = first;
      block.query_count = std::min(kPageTokens, tokens - first);
      block.first_key = past + first;
      block.key_pages = key_pages.data();
      block.value_pages = value_pages.data();
      blocks.push_back(block);
      for (int64_t i = 0; i < block.query_count; ++i) {
        const int64_t visible = block.first_key + i + 1;
        pairs += static_cast<double>(window > 0 ? std::min(window, visible) : visible);
      }
    }
    pairs *= static_cast<double>(kv_heads * shared);
    args.q = q.data();
    args.q_stride = kv_heads * shared * key_dim;
    args.o = o.data();
    args.o_stride = kv_heads * shared * value_dim;
    args.blocks = blocks.data();
    args.block_count = static_cast<int64_t>(blocks.size());
    args.query_heads = kv_heads * shared;
    args.kv_heads_per_group = kv_heads;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.window = window;
    args.scale = 1 / std::sqrt(static_cast<double>(key_dim));
  }

  Floats q, o, keys, values;
  std::vector<const void*> key_pages, value_pages;
  std::vector<AttentionBlock> blocks;
  double pairs = 0;  ///< visible (query, key) pairs over all heads
  PagedAttentionArgs args;
};

void AttentionPrefill(benchmark::State& state) {
  AttentionProblem problem(state.range(5), state.range(0), state.range(1), state.range(2),
                           state.range(3), state.range(4), state.range(6));
  Validate(problem.args);
  for (auto _ : state) {
    RunPagedAttentionCpu(problem.args);
    benchmark::ClobberMemory();
  }
  SetFlops(state, 2 * problem.pairs * static_cast<double>(state.range(3) + state.range(4)));
}
BENCHMARK(AttentionPrefill)
    ->ArgNames({"tokens", "kv_heads", "shared", "key_dim", "value_dim", "past", "window"})
    ->Args({512, 8, 1, 64, 64, 0, 0})
    ->Args({2048, 8, 1, 64, 64, 0, 0})
    ->Args({2048, 4, 1, 64, 128, 0, 0})
    ->Args({2048, 2, 4, 64, 64, 0, 0})
    ->Args({2048, 4, 1, 128, 128, 0, 0})
    ->Args({1024, 2, 1, 256, 256, 0, 0})
    ->Args({4096, 4, 1, 64, 64, 0, 512})
    ->Args({64, 4, 1, 64, 128, 8192, 0})
    ->Args({8, 4, 1, 64, 128, 8192, 0})
    ->UseRealTime();

void AttentionDecode(benchmark::State& state) {
  AttentionProblem problem(state.range(0), 1, state.range(1), state.range(2), state.range(3),
                           state.range(4), 0);
  Validate(problem.args);
  for (auto _ : state) {
    RunPagedAttentionCpu(problem.args);
    benchmark::ClobberMemory();
  }
  SetReadShare(state, static_cast<double>(problem.keys.size() + problem.values.size()) * 4);
}
BENCHMARK(AttentionDecode)
    ->ArgNames({"past", "kv_heads", "shared", "key_dim", "value_dim"})
    ->Args({511, 8, 1, 64, 64})
    ->Args({8191, 8, 1, 64, 64})
    ->Args({65535, 4, 1, 64, 128})
    ->Args({65535, 4, 4, 64, 64})
    ->Args({65535, 2, 8, 128, 128})
    ->UseRealTime();

void Norm(benchmark::State& state) {
  NormArgs args;
  args.op = static_cast<NormOp>(state.range(0));
  args.rows = state.range(1);
  args.groups = state.range(2);
  args.width = state.range(3);
  const int64_t columns = args.groups * args.width;
  const Floats x = Values(args.rows * columns);
  const Floats gate = Values(args.rows * columns);
  const Floats weight = Values(args.width);
  Floats y(x.size());
  args.x = x.data();
  args.y = y.data();
  args.weight = weight.data();
  args.x_stride = args.y_stride = args.gate_stride = columns;
  if (state.range(4) != 0) args.gate = gate.data();
  for (auto _ : state) {
    RunNormCpu(args);
    benchmark::ClobberMemory();
  }
  SetReadShare(state, static_cast<double>(x.size()) * (args.gate != nullptr ? 12 : 8));
}
BENCHMARK(Norm)
    ->ArgNames({"op", "rows", "groups", "width", "gate"})
    ->Args({0, 1, 1, 1024, 0})
    ->Args({0, 2048, 1, 1024, 0})
    ->Args({0, 2048, 4, 256, 1})
    ->Args({2, 2048, 1, 1024, 0})
    ->Args({3, 2048, 16, 64, 0})
    ->UseRealTime();

void ShortConv(benchmark::State& state) {
  ShortConvArgs args;
  args.channels = state.range(1);
  args.width = 4;
  args.sequences = 1;
  const int64_t tokens = state.range(0);
  const std::vector<int64_t> offsets = {0, tokens};
  const Floats x = Values(tokens * args.channels);
  const Floats weight = Values(args.channels * args.width);
  Floats y(x.size());
  Floats tail(static_cast<size_t>(3 * args.channels));
  float* tails[] = {tail.data()};
  args.x = x.data();
  args.y = y.data();
  args.x_stride = args.y_stride = args.channels;
  args.weight = weight.data();
  args.tails = tails;
  args.offsets = offsets.data();
  for (auto _ : state) {
    RunShortConvCpu(args);
    benchmark::ClobberMemory();
  }
  SetReadShare(state, static_cast<double>(x.size()) * 8);
}
BENCHMARK(ShortConv)
    ->ArgNames({"tokens", "channels"})
    ->Args({1, 4096})
    ->Args({2048, 1024})
    ->Args({2048, 4096})
    ->UseRealTime();

void Rope(benchmark::State& state) {
  RopeArgs args;
  args.tokens = state.range(0);
  args.heads = state.range(1);
  args.head_dim = args.dims = state.range(2);
  Floats x = Values(args.tokens * args.heads * args.head_dim);
  Floats inverse;
  for (int64_t i = 0; i < args.dims / 2; ++i) {
    inverse.push_back(std::pow(1e4F, -2 * static_cast<float>(i) / static_cast<float>(args.dims)));
  }
  std::vector<int64_t> positions;
  for (int64_t t = 0; t < args.tokens; ++t) positions.push_back(t);
  args.x = x.data();
  args.x_stride = args.heads * args.head_dim;
  args.positions = positions.data();
  args.inverse_frequencies = inverse.data();
  for (auto _ : state) {
    RunRopeCpu(args);
    benchmark::ClobberMemory();
  }
  SetReadShare(state, static_cast<double>(x.size()) * 8);
}
BENCHMARK(Rope)
    ->ArgNames({"tokens", "heads", "dim"})
    ->Args({1, 8, 64})
    ->Args({2048, 8, 64})
    ->Args({2048, 16, 128})
    ->UseRealTime();

}  // namespace
}  // namespace natsl::kernels
