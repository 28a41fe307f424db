// Attention over pages on the device: plain and NAtS-L, prefill in pieces and decode steps, against
// a plain softmax over the keys that each query may see.
#include "kernels/cuda/attention_step.h"
#include "kernels/cuda/nats.h"
#include "tests/kernels/cuda/cuda_support.h"

namespace natsl::kernels::cuda {
namespace {

using namespace testing;

class AttentionCuda : public CudaTest {};

struct Case {
  DType dtype = DType::kFloat32;
  int64_t groups = 1, heads = 2, share = 1;  ///< share: query heads of a kv head
  int64_t key_dim = 16, value_dim = 24, window = 0;
  bool nats = false, own_chunk = true;
  double score_bound = 0;
  int64_t broken_key = -1;                   ///< of sequence 0: a NaN in every head
  std::vector<std::vector<int64_t>> pieces;  ///< rows of each sequence in each pass
};

// One model's worth of pages, driven through the passes of a case.
class Attention {
 public:
  Attention(const Case& c, uint64_t seed) : c_(c), random_(seed) {
    sequences_ = static_cast<int64_t>(c.pieces[0].size());
    total_.assign(static_cast<size_t>(sequences_), 0);
    for (const auto& piece : c.pieces) {
      for (int64_t s = 0; s < sequences_; ++s) total_[s] += piece[s];
    }
    kv_heads_ = c.groups * c.heads;
    query_heads_ = kv_heads_ * c.share;
    for (int64_t s = 0; s < sequences_; ++s) {
      q_.push_back(Rounded(c.dtype, random_.Normals(total_[s] * query_heads_ * c.key_dim)));
      k_.push_back(Rounded(c.dtype, random_.Normals(total_[s] * kv_heads_ * c.key_dim)));
      v_.push_back(Rounded(c.dtype, random_.Normals(total_[s] * kv_heads_ * c.value_dim)));
      std::vector<uint8_t> flags;
      for (int64_t i = 0; i < (total_[s] / 64 + 1) * c.groups; ++i) {
        flags.push_back(!c.nats || random_.Uniform(0, 1) < 0.4f ? 1 : 0);
      }
      softmax_.push_back(flags);
      slots_.push_back(static_cast<int32_t>(2 * s + 1));
    }
    for (int64_t h = 0; c.broken_key >= 0 && h < kv_heads_; ++h) {
      k_[0][(c.broken_key * kv_heads_ + h) * c.key_dim] = NAN;
    }
  }

  void Run() {
    const int64_t slots = 2 * sequences_ + 1, max_pages = 40, pool_pages = 300;
    const size_t page = static_cast<size_t>(c_.heads * 64 * core::ByteSize(c_.dtype));
    Memory keys(page * pool_pages * c_.key_dim), values(page * pool_pages * c_.value_dim);
    std::vector<int32_t> stack;
    for (int32_t p = 0; p < pool_pages; ++p) stack.push_back(p * 7 % pool_pages);
    Array<int32_t> pages(std::vector<int32_t>(slots * c_.groups * max_pages, -1));
    Array<int32_t> counts(std::vector<int32_t>(slots * c_.groups, 0)), free(stack);
    Array<int32_t> free_count(std::vector<int32_t>{static_cast<int32_t>(pool_pages)});
    Array<int32_t> device_slots(slots_);
    const KvPool pool{c_.dtype, keys.data(), values.data(), c_.heads, c_.key_dim, c_.value_dim};
    const PageTable table{pages.data(), counts.data(), c_.groups,
                          max_pages,    free.data(),   free_count.data()};
    std::vector<int64_t> done(static_cast<size_t>(sequences_), 0);
    for (const auto& piece : c_.pieces) {
      const bool step = std::all_of(piece.begin(), piece.end(), [](int64_t n) { return n == 1; });
      Floats q, k, v, expected;
      std::vector<int64_t> offsets = {0};
      std::vector<uint8_t> flags;
      for (int64_t s = 0; s < sequences_; ++s) {
        for (int64_t t = done[s]; t < done[s] + piece[s]; ++t) {
          Append(q, q_[s], t, query_heads_ * c_.key_dim);
          Append(k, k_[s], t, kv_heads_ * c_.key_dim);
          Append(v, v_[s], t, kv_heads_ * c_.value_dim);
          Expect(s, t, expected);
        }
        offsets.push_back(offsets.back() + piece[s]);
        if (piece[s] == 0) continue;
        for (int64_t chunk = done[s] / 64; chunk <= (done[s] + piece[s] - 1) / 64; ++chunk) {
          for (int64_t g = 0; g < c_.groups; ++g) {
            flags.push_back(softmax_[s][chunk * c_.groups + g]);
          }
        }
      }
      flags.resize(static_cast<size_t>(MaxChunks(offsets.back(), sequences_) * c_.groups));
      const Array<uint8_t> softmax(flags);
      const PlannedBatch batch(offsets, done);
      const Activations dq(c_.dtype, q), dk(c_.dtype, k), dv(c_.dtype, v);
      const Activations o(c_.dtype, static_cast<int64_t>(expected.size()));
      const int64_t q_stride = query_heads_ * c_.key_dim, k_stride = kv_heads_ * c_.key_dim;
      const int64_t v_stride = kv_heads_ * c_.value_dim, o_stride = query_heads_ * c_.value_dim;
      const double scale = 1 / std::sqrt(static_cast<double>(c_.key_dim));
      if (step) {
        const Activations prepared(c_.dtype, static_cast<int64_t>(q.size()));
        AttentionStepArgs prepare;
        prepare.pool = pool;
        prepare.table = table;
        prepare.slots = device_slots.data();
        prepare.q = dq.data();
        prepare.q_stride = q_stride;
        prepare.k = dk.data();
        prepare.k_stride = k_stride;
        prepare.v = dv.data();
        prepare.v_stride = v_stride;
        prepare.q_out = prepared.data();
        prepare.sequences = sequences_;
        prepare.query_heads = query_heads_;
        RunAttentionStep(prepare, nullptr);
        DecodeAttentionArgs args;
        args.pool = pool;
        args.table = table;
        args.slots = device_slots.data();
        args.q = prepared.data();
        args.q_stride = q_stride;
        args.o = o.data();
        args.o_stride = o_stride;
        args.sequences = sequences_;
        args.query_heads = query_heads_;
        args.window = c_.window;
        args.scale = scale;
        if (!c_.own_chunk) args.skip_own_chunk = batch.device_first.data();
        args.splits = done[0] % 3 + 1;
        const Memory workspace(static_cast<size_t>(DecodeAttentionWorkspaceBytes(args)));
        args.workspace = workspace.data();
        RunDecodeAttention(args, nullptr);
        if (c_.nats) {
          RunCloseChunks(batch.device_first.data(), softmax.data(), device_slots.data(), sequences_,
                         table, nullptr);
        }
        Synchronize();
      } else {
        const Memory chunk_memory(static_cast<size_t>(ChunkPagesBytes(batch.plan, c_.groups)));
        const ChunkPages chunk_pages = LayOutChunkPages(batch.plan, c_.groups, chunk_memory.data());
        if (c_.nats) {
          RunRouteChunks(batch.plan, softmax.data(), device_slots.data(), table, chunk_pages,
                         nullptr);
        } else {
          RunPlanPages(batch.plan, device_slots.data(), table, chunk_pages, nullptr);
        }
        RunStoreKv(
            {pool, &batch.plan, chunk_pages, c_.groups, dk.data(), k_stride, dv.data(), v_stride},
            nullptr);
        PrefillAttentionArgs args;
        args.pool = pool;
        args.table = table;
        args.plan = &batch.plan;
        args.pages = chunk_pages;
        args.slots = device_slots.data();
        args.q = dq.data();
        args.q_stride = q_stride;
        args.k = dk.data();
        args.k_stride = k_stride;
        args.v = dv.data();
        args.v_stride = v_stride;
        args.o = o.data();
        args.o_stride = o_stride;
        args.query_heads = query_heads_;
        args.window = c_.window;
        args.own_chunk = c_.own_chunk;
        args.scale = scale;
        args.score_bound = c_.score_bound;
        RunPrefillAttention(args, nullptr);
        RunReleasePages(chunk_pages.released, sequences_ * c_.groups, table, nullptr);
        Synchronize();
      }
      ExpectNear(o.Values(), expected, Tolerance(c_.dtype), step ? "step" : "prefill");
      for (int64_t s = 0; s < sequences_; ++s) done[s] += piece[s];
      ExpectPages(done, pages.Values(), counts.Values(), free_count.Values()[0], max_pages,
                  pool_pages);
    }
  }

 private:
  static void Append(Floats& to, const Floats& from, int64_t row, int64_t width) {
    to.insert(to.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
  }

  // The output row of position t: softmax in double over what it may see.
  void Expect(int64_t s, int64_t t, Floats& out) const {
    for (int64_t h = 0; h < query_heads_; ++h) {
      const int64_t kv = h / c_.share, group = kv / c_.heads;
      std::vector<int64_t> seen;
      for (int64_t j = 0; j <= t; ++j) {
        const bool own = j / 64 == t / 64;
        if (own ? !c_.own_chunk : softmax_[s][j / 64 * c_.groups + group] == 0) continue;
        if (c_.window > 0 && j <= t - c_.window) continue;
        seen.push_back(j);
      }
      std::vector<double> sum(static_cast<size_t>(c_.value_dim), 0.0);
      double total = 0;
      for (const int64_t j : seen) {
        double score = 0;
        for (int64_t i = 0; i < c_.key_dim; ++i) {
          score += static_cast<double>(q_[s][(t * query_heads_ + h) * c_.key_dim + i]) *
                   k_[s][(j * kv_heads_ + kv) * c_.key_dim + i];
        }
        const double weight = std::exp(score / std::sqrt(static_cast<double>(c_.key_dim)));
        total += weight;
        for (int64_t i = 0; i < c_.value_dim; ++i) {
          sum[i] += weight * v_[s][(j * kv_heads_ + kv) * c_.value_dim + i];
        }
      }
      for (const double x : sum) out.push_back(static_cast<float>(seen.empty() ? 0 : x / total));
    }
  }

  // Every list holds what it should, no page is in two lists, none is lost.
  void ExpectPages(const std::vector<int64_t>& done, const std::vector<int32_t>& pages,
                   const std::vector<int32_t>& counts, int32_t free, int64_t max_pages,
                   int64_t pool_pages) const {
    std::vector<int> used(static_cast<size_t>(pool_pages), 0);
    int64_t held = 0;
    for (int64_t s = 0; s < sequences_; ++s) {
      for (int64_t g = 0; g < c_.groups; ++g) {
        int64_t keys = done[s] % 64;
        for (int64_t chunk = 0; chunk < done[s] / 64; ++chunk) {
          keys += softmax_[s][chunk * c_.groups + g] != 0 ? 64 : 0;
        }
        const int64_t list = slots_[s] * c_.groups + g;
        EXPECT_EQ(counts[list], keys) << "sequence " << s << " group " << g;
        for (int64_t p = 0; p < max_pages; ++p) {
          const int32_t id = pages[list * max_pages + p];
          if (id < 0) {
            EXPECT_GE(p * 64, keys);
            continue;
          }
          ++held;
          EXPECT_EQ(used[id]++, 0) << "page " << id << " is held twice";
        }
      }
    }
    EXPECT_EQ(held + free, pool_pages);
  }

  Case c_;
  Random random_;
  int64_t sequences_ = 0, kv_heads_ = 0, query_heads_ = 0;
  std::vector<int64_t> total_;
  std::vector<Floats> q_, k_, v_;
  std::vector<std::vector<uint8_t>> softmax_;
  std::vector<int32_t> slots_;
};

const std::vector<std::vector<int64_t>> kPieces = {
    {300, 1, 64, 130}, {1, 1, 1, 1}, {100, 63, 0, 7}, {1, 1, 1, 1}, {1, 1, 1, 1}, {64, 65, 200, 1}};

class PlainCuda : public CudaTest,
                  public ::testing::WithParamInterface<std::tuple<DType, int64_t>> {};

TEST_P(PlainCuda, SharedHeadsAndWindow) {
  for (const auto& [key_dim, value_dim] :
       {std::pair<int64_t, int64_t>{16, 24}, {64, 64}, {128, 128}, {20, 20}}) {
    Case c;
    c.dtype = std::get<0>(GetParam());
    c.share = 2;
    c.key_dim = key_dim;
    c.value_dim = value_dim;
    c.window = std::get<1>(GetParam());
    c.pieces = kPieces;
    SCOPED_TRACE(::testing::Message() << "dims " << key_dim << " " << value_dim);
    Attention(c, 1).Run();
  }
}

TEST_P(PlainCuda, NanReachesWhatSeesIt) {
  for (const auto& [key_dim, value_dim] :
       {std::pair<int64_t, int64_t>{16, 24}, {64, 64}, {128, 128}}) {
    Case c;
    c.dtype = std::get<0>(GetParam());
    c.key_dim = key_dim;
    c.value_dim = value_dim;
    c.window = std::get<1>(GetParam());
    c.pieces = kPieces;
    SCOPED_TRACE(::testing::Message() << "dims " << key_dim << " " << value_dim);
    // Far back, and the only key of a list's first step.
    for (const int64_t broken : {70, 400}) {
      c.broken_key = broken;
      Attention(c, 1).Run();
    }
    c.broken_key = 0;
    c.pieces = {{1, 1}, {1, 1}, {1, 1}};
    Attention(c, 1).Run();
  }
}

INSTANTIATE_TEST_SUITE_P(Window, PlainCuda,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(0, 50, 100)),
                         kNamed);

// Type, whether a query's own chunk is seen, key width (values 24 or 128 wide).
class NatsListsCuda : public CudaTest,
                      public ::testing::WithParamInterface<std::tuple<DType, int64_t, int64_t>> {
 protected:
  void RunPieces(const std::vector<std::vector<int64_t>>& pieces, uint64_t seed,
                 int64_t broken_key = -1) {
    for (const double bound : {0.0, 40.0}) {
      Case c;
      c.dtype = std::get<0>(GetParam());
      c.groups = 3;
      c.nats = true;
      c.own_chunk = std::get<1>(GetParam()) != 0;
      c.key_dim = std::get<2>(GetParam());
      c.value_dim = c.key_dim == 64 ? 128 : 24;
      c.score_bound = bound;
      c.broken_key = broken_key;
      c.pieces = pieces;
      Attention(c, seed).Run();
    }
  }
};

TEST_P(NatsListsCuda, ShortPieces) { RunPieces(kPieces, 2); }
TEST_P(NatsListsCuda, NanReachesWhatSeesIt) {
  RunPieces(kPieces, 2, 70);
  RunPieces(kPieces, 2, 400);
}
TEST_P(NatsListsCuda, LongPieces) { RunPieces({{1500, 64}, {129, 128}, {1000, 1}}, 3); }

INSTANTIATE_TEST_SUITE_P(Own, NatsListsCuda,
                         ::testing::Combine(::testing::ValuesIn(kTypes), ::testing::Values(1, 0),
                                            ::testing::Values(16, 64)),
                         kNamed);

TEST_F(AttentionCuda, NatsStepsOverAChunkBoundary) {
  Case c;
  c.groups = 2;
  c.nats = true;
  c.pieces = {{60, 3}};
  for (int i = 0; i < 140; ++i) c.pieces.push_back({1, 1});
  c.pieces.push_back({70, 10});
  Attention(c, 4).Run();
}

TEST_F(AttentionCuda, PoolAndChoices) {
  for (const DType dtype : kTypes) {
    Random random(5);
    const int64_t hidden = 72, heads = 3;
    const std::vector<int64_t> lengths = {200, 10, 64};
    const std::vector<int64_t> first = {40, 0, 128};
    const std::vector<int64_t> offsets = {0, 200, 210, 274};
    const Floats h = Rounded(dtype, random.Normals(274 * hidden));
    const Floats before = random.Normals(3 * hidden);
    const Activations dh(dtype, h);
    const Array<float> pooled(before);
    const PlannedBatch batch(offsets, first);
    const Activations mean(dtype, batch.plan.max_chunks * hidden);
    PoolChunksArgs args;
    args.dtype = dtype;
    args.h = dh.data();
    args.h_stride = args.hidden = hidden;
    args.plan = &batch.plan;
    args.pooled = pooled.data();
    args.mean = mean.data();
    args.sequences = 3;
    RunPoolChunks(args, nullptr);
    Synchronize();
    Floats expected, sums = before;
    for (size_t s = 0; s < 3; ++s) {
      Floats sum(before.begin() + s * hidden, before.begin() + (s + 1) * hidden);
      if (first[s] % 64 == 0) sum.assign(hidden, 0);
      bool open = false;
      for (int64_t t = 0; t < lengths[s]; ++t) {
        open = true;
        for (int64_t i = 0; i < hidden; ++i) sum[i] += h[(offsets[s] + t) * hidden + i];
        if ((first[s] + t) % 64 != 63) continue;
        for (int64_t i = 0; i < hidden; ++i) expected.push_back(sum[i] / 64);
        sum.assign(hidden, 0);
        open = false;
      }
      if (open) expected.insert(expected.end(), hidden, 0.0f);
      std::copy(sum.begin(), sum.end(), sums.begin() + s * hidden);
    }
    expected.resize(static_cast<size_t>(batch.plan.max_chunks * hidden), 0.0f);
    ExpectNear(mean.Values(), expected, Tolerance(dtype), "mean");
    ExpectNear(pooled.Values(), sums, 1e-5, "pooled");

    const Floats scores = {1, 0, 0, 1, 0.5f, 0.5f, 2, 3, 3, 2, 1, 1.001f};
    const Activations dscores(dtype, scores);
    const Array<uint8_t> forced(std::vector<uint8_t>{2, 2, 2, 1, 0, 2}), softmax(int64_t{6});
    ChooseChunksArgs choose;
    choose.dtype = dtype;
    choose.scores = dscores.data();
    choose.scores_stride = 2 * heads;
    choose.forced = forced.data();
    choose.softmax = softmax.data();
    choose.rows = 2;
    choose.heads = heads;
    RunChooseChunks(choose, nullptr);
    Synchronize();
    const uint8_t near_tie = dtype == DType::kBFloat16 ? 1 : 0;  // rounded, ties go to attention
    EXPECT_EQ(softmax.Values(), (std::vector<uint8_t>{1, 0, 1, 1, 0, near_tie}));
  }
}

}  // namespace
}  // namespace natsl::kernels::cuda
