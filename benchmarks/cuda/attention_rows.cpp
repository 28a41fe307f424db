// natsl-kernel-bench: attention over pages. A prefill row first compares bfloat16 outputs of a
// short case with float32 arithmetic and fails where they differ.
#include "benchmarks/cuda/bench_support.h"
#include "kernels/cuda/nats.h"

namespace natsl::kernels::cuda::bench {
namespace {

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

}  // namespace

void AddAttentionRows() {
  for (const int share : {10, 25, 50}) {
    const std::string name = "attention/natsl_" + std::to_string(share) + "%";
    Add(name, BenchmarkNatsAttention, share / 100.0, 0.0, kLong);
    Add(name + "_bounded", BenchmarkNatsAttention, share / 100.0, 10.0, kLong);
  }
  Add("decode/natsl_15%", BenchmarkDecodeAttention, int64_t{6}, int64_t{2}, int64_t{64},
      int64_t{128}, 0.15, kLong);
  Add("decode/transformer_340m", BenchmarkDecodeAttention, int64_t{1}, int64_t{16}, int64_t{64},
      int64_t{64}, 1.0, kLong);
}

}  // namespace natsl::kernels::cuda::bench
