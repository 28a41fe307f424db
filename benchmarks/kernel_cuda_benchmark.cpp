// natsl-kernel-bench: the CUDA kernels' times by CUDA events at the sizes of 340M models, with
// achieved TFLOP/s and TB/s. A mixer's row first compares bfloat16 outputs of a short case with the
// float32 recurrence and fails where they differ.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/delta_rule.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/linear_attention.h"
#include "kernels/cuda/nats.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/scan.h"
#include "kernels/cuda/short_conv.h"

namespace natsl::kernels::cuda {
namespace {

class Memory {
 public:
  explicit Memory(int64_t bytes) {
    Check(cudaMalloc(&data_, static_cast<size_t>(bytes + 16)), "cudaMalloc");
  }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  template <typename T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};
using MemoryRef = std::unique_ptr<Memory>;

template <typename T>
MemoryRef Upload(const std::vector<T>& values) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  auto memory = std::make_unique<Memory>(bytes);
  Check(cudaMemcpy(memory->as(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "upload");
  return memory;
}

uint16_t ToBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float FromBits(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Random values, the same for both types (rounded to bfloat16); a block of a million is repeated
// for large arrays.
MemoryRef Randoms(int64_t count, DType dtype, float low, float high, bool normal = true) {
  std::mt19937 engine(static_cast<uint32_t>(count));
  std::normal_distribution<float> gauss;
  std::uniform_real_distribution<float> uniform(low, high);
  const int64_t block = count < (1 << 20) ? count : (1 << 20);
  std::vector<uint16_t> bits(static_cast<size_t>(block));
  std::vector<float> floats(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = ToBits(normal ? gauss(engine) * high : uniform(engine));
    floats[i] = FromBits(bits[i]);
  }
  const int64_t size = core::ByteSize(dtype);
  auto memory = std::make_unique<Memory>(count * size);
  for (int64_t at = 0; at < count; at += block) {
    const int64_t part = count - at < block ? count - at : block;
    Check(cudaMemcpy(memory->as<char>() + at * size,
                     size == 2 ? static_cast<const void*>(bits.data()) : floats.data(),
                     static_cast<size_t>(part * size), cudaMemcpyHostToDevice),
          "upload");
  }
  return memory;
}
MemoryRef Normals(int64_t count, DType dtype, float scale = 1) {
  return Randoms(count, dtype, 0, scale);
}
MemoryRef Uniforms(int64_t count, DType dtype, float low, float high) {
  return Randoms(count, dtype, low, high, false);
}

std::vector<float> Download(const Memory& memory, int64_t count, DType dtype) {
  std::vector<float> values(static_cast<size_t>(count));
  if (dtype == DType::kFloat32) {
    Check(cudaMemcpy(values.data(), memory.as(), values.size() * 4, cudaMemcpyDeviceToHost),
          "copy");
    return values;
  }
  std::vector<uint16_t> bits(values.size());
  Check(cudaMemcpy(bits.data(), memory.as(), bits.size() * 2, cudaMemcpyDeviceToHost), "copy");
  for (size_t i = 0; i < bits.size(); ++i) values[i] = FromBits(bits[i]);
  return values;
}

double RelativeError(const std::vector<float>& actual, const std::vector<float>& expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (static_cast<double>(actual[i]) - expected[i]) * (actual[i] - expected[i]);
    norm += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(error / norm);
}

// One sequence's plan.
struct Plan {
  explicit Plan(int64_t tokens)
      : offsets(Upload(std::vector<int64_t>{0, tokens})),
        memory(std::make_unique<Memory>(ChunkPlanBytes(tokens, 1))),
        plan(BuildChunkPlan(offsets->as<int64_t>(), nullptr, 1, tokens, memory->as(), nullptr)) {}
  MemoryRef offsets, memory;
  ChunkPlan plan;
};

struct Work {
  std::function<void()> run;
  double flops = 0, bytes = 0;
  double error = -1;  ///< relative, of the short case
};

void Time(benchmark::State& state, const Work& work) {
  if (!(work.error <= 1e-2)) {
    if (work.error != -1) {
      state.SkipWithError(("wrong output: relative error " + std::to_string(work.error)).c_str());
      return;
    }
  }
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int i = 0; i < 3; ++i) work.run();
  Check(cudaDeviceSynchronize(), "warm-up");
  double total = 0;
  for (auto _ : state) {
    cudaEventRecord(begin);
    work.run();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    state.SetIterationTime(ms * 1e-3);
    total += ms * 1e-3;
  }
  Check(cudaGetLastError(), "benchmark");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const double seconds = total / static_cast<double>(state.iterations());
  if (work.flops > 0) state.counters["TFLOP/s"] = work.flops / seconds * 1e-12;
  if (work.bytes > 0) state.counters["TB/s"] = work.bytes / seconds * 1e-12;
  if (work.error >= 0) state.counters["error"] = work.error;
}

struct DeltaShape {
  int64_t heads, key_dim, value_dim;
  float decay;  ///< log decays in (-decay, 0); 0: none
  double softmax_share = -1;
};

// Everything one delta rule call needs, for `tokens` rows.
struct DeltaSetup {
  DeltaSetup(const DeltaShape& shape, DType dtype, int64_t tokens, bool step) : plan(tokens) {
    const int64_t qk = tokens * shape.heads * shape.key_dim, count = tokens * shape.heads;
    values = tokens * shape.heads * shape.value_dim;
    q = Normals(qk, dtype);
    k = Normals(qk + 1, dtype);  // another count, other values
    v = Normals(values, dtype);
    g = Uniforms(count, DType::kFloat32, -shape.decay, 0);
    beta = Uniforms(count, DType::kFloat32, 0, 1);
    o = std::make_unique<Memory>(values * core::ByteSize(dtype));
    state = Normals(2 * shape.heads * shape.key_dim * shape.value_dim, DType::kFloat32);
    std::mt19937 engine(7);
    std::vector<uint8_t> flags(static_cast<size_t>(plan.plan.max_chunks * shape.heads));
    for (uint8_t& flag : flags)
      flag = static_cast<double>(engine() % 1000) < shape.softmax_share * 1000 ? 1 : 0;
    softmax = Upload(flags);
    start = Normals(2 * shape.heads * shape.key_dim * shape.value_dim, DType::kFloat32);
    log = Normals(2 * shape.heads, DType::kFloat32);
    nats.chunk_start = start->as<float>();
    nats.chunk_log_decay = log->as<float>();
    nats.softmax = softmax->as<uint8_t>();
    nats.softmax_heads = shape.heads;
    nats.decay_over_softmax_chunks = true;
    positions = Upload(std::vector<int64_t>{5});
    // Read slot 0, write slot 1: every run does the same.
    read = Upload(std::vector<int32_t>{0});
    write = Upload(std::vector<int32_t>{1});
    args.dtype = dtype;
    args.q = q->as();
    args.k = k->as();
    args.v = v->as();
    args.q_stride = args.k_stride = shape.heads * shape.key_dim;
    args.v_stride = args.o_stride = shape.heads * shape.value_dim;
    args.normalize_qk = true;
    args.g = shape.decay > 0 ? g->as<float>() : nullptr;
    args.beta = beta->as<float>();
    args.o = o->as();
    args.state = state->as<float>();
    args.slots = {read->as<int32_t>(), write->as<int32_t>()};
    args.nats = shape.softmax_share >= 0 ? &nats : nullptr;
    args.plan = step ? nullptr : &plan.plan;
    args.positions = positions->as<int64_t>();
    args.sequences = 1;
    args.heads = args.value_heads = shape.heads;
    args.key_dim = shape.key_dim;
    args.value_dim = shape.value_dim;
    args.scale = 1 / std::sqrt(static_cast<double>(shape.key_dim));
    workspace = std::make_unique<Memory>(DeltaRuleWorkspaceBytes(args));
    args.workspace = workspace->as();
  }
  Plan plan;
  int64_t values = 0;
  MemoryRef q, k, v, g, beta, o, state, softmax, start, log, positions, read, write, workspace;
  NatsDelta nats;
  DeltaRuleArgs args;
};

void BenchmarkDelta(benchmark::State& state, DeltaShape shape, int64_t tokens) {
  Work work;
  std::vector<float> outputs[2];
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    const DeltaSetup setup(shape, dtype, 3000, false);
    RunDeltaRule(setup.args, nullptr);
    outputs[dtype == DType::kFloat32] = Download(*setup.o, setup.values, dtype);
  }
  work.error = RelativeError(outputs[0], outputs[1]);
  const DeltaSetup setup(shape, DType::kBFloat16, tokens, tokens == 1);
  work.run = [&] { RunDeltaRule(setup.args, nullptr); };
  const auto n = static_cast<double>(tokens * shape.heads), K = static_cast<double>(shape.key_dim),
             V = static_cast<double>(shape.value_dim);
  // Products of the chunked form with chunks of 64; bytes of inputs and outputs once.
  work.flops = tokens == 1 ? 0 : n * (2 * 64 * (2 * K + K + V) + 6 * K * V + 64 * V);
  work.bytes = tokens == 1 ? n * K * V * 8 : n * (2 * K + 2 * V) * 2;
  Time(state, work);
}

struct LinearShape {
  DecayKind kind;
  int64_t heads, q_heads, key_dim, value_dim;
  float decay;
  bool bonus = false;
};

struct LinearSetup {
  LinearSetup(const LinearShape& shape, DType dtype, int64_t tokens, bool step) : plan(tokens) {
    values = tokens * shape.heads * shape.value_dim;
    q = Normals(tokens * shape.q_heads * shape.key_dim, dtype, 0.3f);
    k = Normals(tokens * shape.q_heads * shape.key_dim + 1, dtype, 0.3f);
    v = Normals(values, dtype);
    g = Uniforms(shape.kind == DecayKind::kScalarPerHead ? shape.heads
                 : shape.kind == DecayKind::kScalarPerToken
                     ? tokens * shape.heads
                     : tokens * shape.q_heads * shape.key_dim,
                 DType::kFloat32, -shape.decay, 0);
    bonus = Normals(shape.heads * shape.key_dim, DType::kFloat32);
    o = std::make_unique<Memory>(values * core::ByteSize(dtype));
    state = Normals(2 * shape.heads * shape.key_dim * shape.value_dim, DType::kFloat32);
    read = Upload(std::vector<int32_t>{0});
    write = Upload(std::vector<int32_t>{1});
    args.dtype = dtype;
    args.q = q->as();
    args.k = k->as();
    args.v = v->as();
    args.q_stride = args.k_stride = shape.q_heads * shape.key_dim;
    args.v_stride = args.o_stride = shape.heads * shape.value_dim;
    args.g = g->as<float>();
    args.decay = shape.kind;
    args.bonus = shape.bonus ? bonus->as<float>() : nullptr;
    args.o = o->as();
    args.state = state->as<float>();
    args.slots = {read->as<int32_t>(), write->as<int32_t>()};
    args.plan = step ? nullptr : &plan.plan;
    args.sequences = 1;
    args.heads = args.v_heads = shape.heads;
    args.q_heads = args.kv_heads = shape.q_heads;
    args.key_dim = shape.key_dim;
    args.value_dim = shape.value_dim;
    args.scale = 0.1;
    workspace = std::make_unique<Memory>(LinearAttentionWorkspaceBytes(args));
    args.workspace = workspace->as();
  }
  Plan plan;
  int64_t values = 0;
  MemoryRef q, k, v, g, bonus, o, state, read, write, workspace;
  LinearAttentionArgs args;
};

void BenchmarkLinear(benchmark::State& state, LinearShape shape, int64_t tokens) {
  Work work;
  std::vector<float> outputs[2];
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    const LinearSetup setup(shape, dtype, 3000, false);
    RunLinearAttention(setup.args, nullptr);
    outputs[dtype == DType::kFloat32] = Download(*setup.o, setup.values, dtype);
  }
  work.error = RelativeError(outputs[0], outputs[1]);
  const LinearSetup setup(shape, DType::kBFloat16, tokens, tokens == 1);
  work.run = [&] { RunLinearAttention(setup.args, nullptr); };
  const auto n = static_cast<double>(tokens), H = static_cast<double>(shape.heads),
             Q = static_cast<double>(shape.q_heads), K = static_cast<double>(shape.key_dim),
             V = static_cast<double>(shape.value_dim);
  work.flops = tokens == 1 ? 0 : n * H * (2 * 64 * K + 4 * K * V + 64 * V);
  work.bytes = tokens == 1 ? H * K * V * 8
                           : n * (Q * 2 * K * 2 + H * V * 4 +
                                  (shape.kind == DecayKind::kVectorPerToken ? Q * K * 4 : 0));
  Time(state, work);
}

void BenchmarkScan(benchmark::State& state, int64_t channels, int64_t tokens) {
  const Plan plan(tokens);
  const auto x = Normals(tokens * channels, DType::kBFloat16);
  const auto g = Uniforms(tokens * channels, DType::kFloat32, -1, 0);
  const Memory o(tokens * channels * 2);
  const auto slots = Normals(2 * channels, DType::kFloat32);
  ScanArgs args;
  args.x = x->as();
  args.x_stride = args.o_stride = args.channels = channels;
  args.g = g->as<float>();
  args.o = o.as();
  args.state = slots->as<float>();
  args.plan = &plan.plan;
  args.sequences = 1;
  const Memory workspace(ScanWorkspaceBytes(args));
  args.workspace = workspace.as();
  Work work;
  work.run = [&] { RunScan(args, nullptr); };
  work.bytes = static_cast<double>(tokens * channels) * 8;
  Time(state, work);
}

void BenchmarkConv(benchmark::State& state, int64_t channels, int64_t tokens) {
  const Plan plan(tokens);
  const auto x = Normals(tokens * channels, DType::kBFloat16);
  const auto weight = Normals(channels * 4, DType::kFloat32);
  const Memory y(tokens * channels * 2), tails(channels * 12);
  Check(cudaMemset(tails.as(), 0, static_cast<size_t>(channels * 12)), "memset");
  ShortConvArgs args;
  args.x = x->as();
  args.x_stride = args.y_stride = args.channels = channels;
  args.weight = weight->as<float>();
  args.y = y.as();
  args.tails = tails.as<float>();
  args.offsets = plan.plan.offsets;
  args.sequences = 1;
  args.tokens = tokens;
  Work work;
  work.run = [&] { RunShortConv(args, nullptr); };
  work.bytes = static_cast<double>(tokens * channels) * 4;
  Time(state, work);
}

void BenchmarkNorm(benchmark::State& state, int64_t groups, int64_t width, bool residual, bool gate,
                   int64_t tokens) {
  const int64_t columns = groups * width;
  const auto x = Normals(tokens * columns, DType::kBFloat16);
  const auto other = Normals(tokens * columns + 1, DType::kBFloat16);
  const auto weight = Normals(width, DType::kFloat32);
  const Memory y(tokens * columns * 2), sum(tokens * columns * 2);
  NormArgs args;
  args.dtype = DType::kBFloat16;
  args.x = x->as();
  args.x_stride = args.y_stride = args.residual_stride = args.gate_stride = columns;
  if (residual) {
    args.residual = other->as();
    args.sum = sum.as();
  }
  if (gate) args.gate = other->as();
  args.weight = weight->as<float>();
  args.y = y.as();
  args.rows = tokens;
  args.groups = groups;
  args.width = width;
  Work work;
  work.run = [&] { RunNorm(args, nullptr); };
  work.bytes = static_cast<double>(tokens * columns) * 2 * (2 + 2 * residual + gate);
  Time(state, work);
}

void BenchmarkSwiGlu(benchmark::State& state, int64_t columns, int64_t tokens) {
  const auto both = Normals(tokens * columns * 2, DType::kBFloat16);
  const Memory y(tokens * columns * 2);
  ActivationArgs args;
  args.x = both->as();
  args.factor = both->as<uint16_t>() + columns;
  args.x_stride = args.factor_stride = 2 * columns;
  args.y = y.as();
  args.y_stride = args.columns = columns;
  args.rows = tokens;
  Work work;
  work.run = [&] { RunActivation(args, nullptr); };
  work.bytes = static_cast<double>(tokens * columns) * 6;
  Time(state, work);
}

void BenchmarkLogits(benchmark::State& state, int64_t vocabulary, int64_t rows) {
  const auto logits = Normals(rows * vocabulary, DType::kBFloat16);
  const Memory sums(rows * 4), best(rows * 4);
  LogitsArgs args;
  args.logits = logits->as();
  args.logits_stride = args.vocabulary = vocabulary;
  args.log_sum_exp = sums.as<float>();
  args.argmax = best.as<int32_t>();
  args.rows = rows;
  Work work;
  work.run = [&] { RunLogits(args, nullptr); };
  work.bytes = static_cast<double>(rows * vocabulary) * 2;
  Time(state, work);
}

// Attention of NAtS-L at a share of softmax chunks (prefill), or over a full list (decode).
struct AttentionSetup {
  AttentionSetup(DType dtype, int64_t groups, int64_t heads, int64_t key_dim, int64_t value_dim,
                 int64_t tokens, double share)
      : plan(tokens), all_heads(groups * heads) {
    const int64_t max_pages = tokens / 64 + 2, pages = max_pages * groups;
    const int64_t size = core::ByteSize(dtype);
    q = Normals(tokens * all_heads * key_dim, dtype);
    k = Normals(tokens * all_heads * key_dim + 1, dtype);
    v = Normals(tokens * all_heads * value_dim, dtype);
    o = std::make_unique<Memory>(tokens * all_heads * value_dim * size);
    keys = std::make_unique<Memory>(pages * heads * 64 * key_dim * size);
    values = std::make_unique<Memory>(pages * heads * 64 * value_dim * size);
    std::vector<int32_t> stack;
    for (int64_t p = 0; p < pages; ++p) stack.push_back(static_cast<int32_t>(p));
    table_pages = Upload(std::vector<int32_t>(static_cast<size_t>(pages), -1));
    counts = Upload(std::vector<int32_t>(static_cast<size_t>(groups), 0));
    free = Upload(stack);
    free_count = Upload(std::vector<int32_t>{static_cast<int32_t>(pages)});
    slots = Upload(std::vector<int32_t>{0});
    std::mt19937 engine(7);
    std::vector<uint8_t> flags(static_cast<size_t>(plan.plan.max_chunks * groups));
    for (uint8_t& flag : flags) flag = static_cast<double>(engine() % 1000) < share * 1000 ? 1 : 0;
    softmax = Upload(flags);
    pool = {dtype, keys->as(), values->as(), heads, key_dim, value_dim};
    table = {table_pages->as<int32_t>(), counts->as<int32_t>(),    groups, max_pages,
             free->as<int32_t>(),        free_count->as<int32_t>()};
    chunk_memory = std::make_unique<Memory>(ChunkPagesBytes(plan.plan, groups));
    chunk_pages = LayOutChunkPages(plan.plan, groups, chunk_memory->as());
    RunRouteChunks(plan.plan, softmax->as<uint8_t>(), slots->as<int32_t>(), table, chunk_pages,
                   nullptr);
    StoreKvArgs store;
    store.pool = pool;
    store.plan = &plan.plan;
    store.pages = chunk_pages;
    store.groups = groups;
    store.k = k->as();
    store.v = v->as();
    store.k_stride = all_heads * key_dim;
    store.v_stride = all_heads * value_dim;
    RunStoreKv(store, nullptr);
    args.pool = pool;
    args.table = table;
    args.plan = &plan.plan;
    args.pages = chunk_pages;
    args.slots = slots->as<int32_t>();
    args.q = q->as();
    args.q_stride = all_heads * key_dim;
    args.k = k->as();
    args.k_stride = store.k_stride;
    args.v = v->as();
    args.v_stride = store.v_stride;
    args.o = o->as();
    args.o_stride = all_heads * value_dim;
    args.query_heads = all_heads;
    args.scale = 1 / std::sqrt(static_cast<double>(key_dim));
    // Scores that a causal pass computes, own chunks included.
    for (int64_t g = 0; g < groups; ++g) {
      int64_t kept = 0;
      for (int64_t c = 0; c < tokens / 64; ++c) {
        scores += static_cast<double>(heads) * 64 * (static_cast<double>(kept) * 64 + 32.5);
        kept += flags[static_cast<size_t>(c * groups + g)];
      }
      held += static_cast<double>(kept * 64 * heads);
    }
  }
  Plan plan;
  int64_t all_heads;
  double scores = 0, held = 0;
  MemoryRef q, k, v, o, keys, values, table_pages, counts, free, free_count, slots, softmax,
      chunk_memory;
  KvPool pool;
  PageTable table;
  ChunkPages chunk_pages;
  PrefillAttentionArgs args;
};

void BenchmarkNatsAttention(benchmark::State& state, double share, double bound, int64_t tokens) {
  Work work;
  std::vector<float> outputs[2];
  for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    AttentionSetup setup(dtype, 6, 2, 64, 128, 3000, share);
    setup.args.score_bound = bound;
    RunPrefillAttention(setup.args, nullptr);
    outputs[dtype == DType::kFloat32] = Download(*setup.o, 3000 * 12 * 128, dtype);
  }
  work.error = RelativeError(outputs[0], outputs[1]);
  AttentionSetup setup(DType::kBFloat16, 6, 2, 64, 128, tokens, share);
  setup.args.score_bound = bound;
  work.run = [&] { RunPrefillAttention(setup.args, nullptr); };
  work.flops = setup.scores * 2 * (64 + 128);
  Time(state, work);
}

void BenchmarkDecodeAttention(benchmark::State& state, int64_t groups, int64_t heads,
                              int64_t key_dim, int64_t value_dim, double share, int64_t tokens) {
  const AttentionSetup setup(DType::kBFloat16, groups, heads, key_dim, value_dim, tokens, share);
  DecodeAttentionArgs args;
  args.pool = setup.pool;
  args.table = setup.table;
  args.slots = setup.args.slots;
  args.q = setup.args.q;
  args.q_stride = setup.args.q_stride;
  args.o = setup.args.o;
  args.o_stride = setup.args.o_stride;
  args.sequences = 1;
  args.query_heads = groups * heads;
  args.scale = setup.args.scale;
  const Memory workspace(DecodeAttentionWorkspaceBytes(args));
  args.workspace = workspace.as();
  Work work;
  work.run = [&] { RunDecodeAttention(args, nullptr); };
  work.bytes = setup.held * static_cast<double>(key_dim + value_dim) * 2;
  Time(state, work);
}

template <typename Function, typename... Args>
void Add(const std::string& name, Function function, Args... args) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { function(state, args...); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.05);
}

void RegisterAll() {
  const DeltaShape gdn{6, 128, 256, 0.1f}, gdn_weak{6, 128, 256, 1e-3f},
      gdn_large{6, 192, 384, 0.1f}, delta_net{8, 128, 128, 0}, nats{6, 128, 256, 0.1f, 0.25};
  const LinearShape gla{DecayKind::kVectorPerToken, 4, 4, 128, 256, 0.1f},
      hgrn2{DecayKind::kVectorPerToken, 8, 8, 128, 128, 0.1f},
      rwkv6{DecayKind::kVectorPerToken, 4, 4, 128, 256, 0.5f, true},
      retnet{DecayKind::kScalarPerHead, 4, 4, 256, 512, 0.03f},
      mamba2{DecayKind::kScalarPerToken, 32, 1, 128, 64, 0.1f};
  for (const int64_t tokens : {int64_t{131072}, int64_t{16384}, int64_t{1}}) {
    const std::string at = tokens == 1 ? "/step" : "/" + std::to_string(tokens);
    Add("delta/gdn_340m" + at, BenchmarkDelta, gdn, tokens);
    Add("delta/gdn_340m_weak_decay" + at, BenchmarkDelta, gdn_weak, tokens);
    Add("delta/gdn_760m" + at, BenchmarkDelta, gdn_large, tokens);
    Add("delta/delta_net_340m" + at, BenchmarkDelta, delta_net, tokens);
    Add("delta/natsl_340m" + at, BenchmarkDelta, nats, tokens);
    Add("linear/gla_340m" + at, BenchmarkLinear, gla, tokens);
    Add("linear/hgrn2_340m" + at, BenchmarkLinear, hgrn2, tokens);
    Add("linear/rwkv6_340m" + at, BenchmarkLinear, rwkv6, tokens);
    Add("linear/retnet_340m" + at, BenchmarkLinear, retnet, tokens);
    Add("linear/mamba2_340m" + at, BenchmarkLinear, mamba2, tokens);
  }
  const int64_t tokens = 131072;
  Add("scan/hgrn_340m", BenchmarkScan, int64_t{1024}, tokens);
  Add("conv/gdn_340m", BenchmarkConv, int64_t{3072}, tokens);
  Add("norm/residual_1024", BenchmarkNorm, int64_t{1}, int64_t{1024}, true, false, tokens);
  Add("norm/gated_6x256", BenchmarkNorm, int64_t{6}, int64_t{256}, false, true, tokens);
  Add("norm/heads_6x128", BenchmarkNorm, int64_t{6}, int64_t{128}, false, false, tokens);
  Add("swiglu/2816", BenchmarkSwiGlu, int64_t{2816}, tokens);
  Add("logits/32000", BenchmarkLogits, int64_t{32000}, int64_t{8192});
  for (const int share : {10, 25, 50}) {
    const std::string name = "attention/natsl_" + std::to_string(share) + "%";
    Add(name, BenchmarkNatsAttention, share / 100.0, 0.0, tokens);
    Add(name + "_bounded", BenchmarkNatsAttention, share / 100.0, 10.0, tokens);
  }
  Add("decode/natsl_15%", BenchmarkDecodeAttention, int64_t{6}, int64_t{2}, int64_t{64},
      int64_t{128}, 0.15, tokens);
  Add("decode/transformer_340m", BenchmarkDecodeAttention, int64_t{1}, int64_t{16}, int64_t{64},
      int64_t{64}, 1.0, tokens);
}

}  // namespace
}  // namespace natsl::kernels::cuda

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "natsl-kernel-bench: no CUDA device on this machine\n");
    return 2;
  }
  natsl::kernels::cuda::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
