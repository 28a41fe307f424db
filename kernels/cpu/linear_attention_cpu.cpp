// Chunked linear attention on the CPU. In a segment of up to 64 tokens with incoming state S0 and
// b the running sum of g (a vector over K, or a scalar):
//   o_t = scale [ (q_t exp(b_t))^T S0 + sum_{j<=t} P(t,j) v_j ],  P(t,j) = sum_k q k exp(b_t - b_j)
//   S = exp(b_n) S0 + sum_j (k_j exp(b_n - b_j)) v_j^T
// With a bonus, o_t reads the state before token t: b_{t-1} in place of b_t, and u k_t for j = t.
// Every exponential is a product of exp(g) <= 1. For a vector decay the segment is cut in blocks of
// 16 tokens: keys carry the decay up to the start of the query's block, queries the rest, and
// within a block the products are taken token by token.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_attention_cpu.cpp"
#include <cmath>

#include "core/check.h"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/linear_attention_chunks.h"
#include "kernels/cpu/mixer_chunked.h"
#include "kernels/cpu/mixer_exp-inl.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"
#include "kernels/cpu/mixer_tile-inl.h"
#include "kernels/linear_attention.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

constexpr int64_t kBlock = 16;  // tokens of a block of the vector decay
static_assert(kChunk % kBlock == 0 && kBlock % kTileRows == 0);

// Scratch of one item.
struct LinearScratch {
  int64_t key_stride, panel_size;
  float* q;        // [64, key_stride], times scale (and, a vector, the decay from the start)
  float* k;        // [K rounded up, 64]: transposed keys (times a vector decay to the end)
  float* scores;   // [64, 64] P without decay (scalar) or with (vector), without bonus
  float* decayed;  // [64, 64] P of one head
  float* values;   // a panel of 64 rows
  float* total;    // [key_stride] decay of the whole segment
  float* states;   // panels of K rows, all of the item's columns
  // Of a block of 16 tokens under a vector decay, [16, key_stride] each:
  float* block_q;        // times scale
  float* block_q_decay;  // block_q times the decay from the block's start
  float* block_k;        // keys, then times their decay to the block's end
  float* block_decay;    // exp(g)
  float* block_total;    // [key_stride] decay of the block
  float decay[kChunk];   // scalar decay from the start to what token t reads
  float tail[kChunk];    // scalar decay from token j to the end

  LinearScratch(int64_t key_dim, int64_t units) {
    key_stride = RoundUp(key_dim, std::max<int64_t>(kLanes, kTileRows));
    const int64_t matrix = kChunk * key_stride, square = kChunk * kChunk;
    const int64_t block = kBlock * key_stride;
    panel_size = key_stride * kPanel;
    const int64_t states_size = panel_size * units * kPanelsOfUnit;
    Scratch::Fill([&](Scratch& scratch) {
      const auto take = [&](int64_t size, float*& part) {
        part = scratch.Take(size);
        if (part != nullptr) std::fill_n(part, size, 0.0f);
      };
      for (float** part : {&q, &k}) take(matrix, *part);
      for (float** part : {&scores, &decayed}) take(square, *part);
      take(kChunk * kPanel, values);
      take(states_size, states);
      for (float** part : {&block_q, &block_q_decay, &block_k, &block_decay}) take(block, *part);
      for (float** part : {&total, &block_total}) take(key_stride, *part);
    });
  }
};

// Scores of a block's queries with its own keys (vector decay), j <= t, or j < t with a bonus.
void ScoreBlock(int64_t rows, bool bonus, const float* q, const float* decay, const float* k,
                int64_t stride, float* scores) {
  const Tag d;
  constexpr int kWidth = 8;  // vectors of a key held in registers
  for (int64_t c = 0; c < stride; c += kWidth * kLanes) {
    const auto vectors = static_cast<int>(std::min<int64_t>(kWidth, (stride - c) / kLanes));
    for (int64_t j = 0; j < rows; ++j) {
      Vec key[kWidth];
      for (int n = 0; n < vectors; ++n) key[n] = hn::Load(d, k + j * stride + c + n * kLanes);
      for (int64_t t = j; t < rows; ++t) {
        const float* const q_row = q + t * stride + c;
        const float* const decay_row = decay + t * stride + c;
        Vec even = hn::Zero(d), odd = hn::Zero(d);
        if (vectors == kWidth) {
          HWY_UNROLL(8)
          for (int n = 0; n < kWidth; n += 2) {
            const Vec decay0 = hn::Load(d, decay_row + n * kLanes);
            const Vec decay1 = hn::Load(d, decay_row + (n + 1) * kLanes);
            const Vec next0 = t == j ? key[n] : hn::Mul(key[n], decay0);
            const Vec next1 = t == j ? key[n + 1] : hn::Mul(key[n + 1], decay1);
            even = hn::MulAdd(hn::Load(d, q_row + n * kLanes), bonus ? key[n] : next0, even);
            odd =
                hn::MulAdd(hn::Load(d, q_row + (n + 1) * kLanes), bonus ? key[n + 1] : next1, odd);
            key[n] = next0;
            key[n + 1] = next1;
          }
        } else {
          for (int n = 0; n < vectors; ++n) {
            const Vec next = t == j ? key[n] : hn::Mul(key[n], hn::Load(d, decay_row + n * kLanes));
            even = hn::MulAdd(hn::Load(d, q_row + n * kLanes), bonus ? key[n] : next, even);
            key[n] = next;
          }
        }
        const float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
        float& score = scores[t * kChunk + j];
        score = c == 0 ? sum : score + sum;
      }
    }
  }
}

// target = a * b, `count` a multiple of the vector.
void Multiply(const float* a, const float* b, int64_t count, float* target) {
  const Tag d;
  for (int64_t i = 0; i < count; i += kLanes) {
    hn::Store(hn::Mul(hn::Load(d, a + i), hn::Load(d, b + i)), d, target + i);
  }
}

// sum of a b c.
float TripleDot(const float* a, const float* b, const float* c, int64_t count) {
  const Tag d;
  Vec sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vec product = hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    sum = hn::MulAdd(product, hn::LoadU(d, c + i), sum);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += a[i] * b[i] * c[i];
  return total;
}

// The decays of a block's rows, and its queries times them.
void DecayQueries(const float* g, int64_t g_stride, int64_t rows, int64_t key_dim, bool bonus,
                  float* q_chunk, LinearScratch& scratch) {
  const Tag d;
  const int64_t stride = scratch.key_stride;
  std::fill_n(scratch.block_total, stride, 1.0f);
  for (int64_t r = 0; r < RoundUp(rows, kTileRows); ++r) {
    float* const decay_row = scratch.block_decay + r * stride;
    if (r < rows) {
      ExpArray(g + r * g_stride, key_dim, decay_row);
    } else {
      std::fill_n(decay_row, stride, 1.0f);
    }
    for (int64_t c = 0; c < stride; c += kLanes) {
      const int64_t at = r * stride + c;
      const Vec decay = hn::Load(d, decay_row + c), q = hn::Load(d, scratch.block_q + at);
      const Vec chunk = hn::Load(d, scratch.total + c),
                block = hn::Load(d, scratch.block_total + c);
      const Vec chunk_next = hn::Mul(chunk, decay), block_next = hn::Mul(block, decay);
      hn::Store(chunk_next, d, scratch.total + c);
      hn::Store(block_next, d, scratch.block_total + c);
      hn::Store(hn::Mul(q, bonus ? chunk : chunk_next), d, q_chunk + at);
      hn::Store(hn::Mul(q, bonus ? block : block_next), d, scratch.block_q_decay + at);
    }
  }
}

// Multiplies the transposed keys before a block by the block's decay, and the block's own by their
// decay to its end.
void DecayKeys(int64_t first, int64_t rows, int64_t key_dim, LinearScratch& scratch) {
  const Tag d;
  const int64_t stride = scratch.key_stride;
  for (int64_t i = 0; i < key_dim && first > 0; ++i) {
    const Vec factor = hn::Set(d, scratch.block_total[i]);
    float* const row = scratch.k + i * kChunk;
    for (int64_t j = 0; j < first; j += kLanes) {
      hn::Store(hn::Mul(hn::Load(d, row + j), factor), d, row + j);
    }
  }
  float* const product = scratch.block_total;
  std::fill_n(product, stride, 1.0f);
  for (int64_t r = rows - 1; r >= 0; --r) {
    float* const key = scratch.block_k + r * stride;
    Multiply(key, product, stride, key);
    Multiply(product, scratch.block_decay + r * stride, stride, product);
  }
}

// Queries, keys and scores of a segment under a vector decay.
void LoadVectorDecay(const LinearAttentionArgs& args, const Segment& segment,
                     const LinearKeys& keys, LinearScratch& scratch) {
  const int64_t stride = scratch.key_stride, key_dim = args.key_dim;
  const int64_t g_stride = args.kv_heads * key_dim;
  const bool bonus = args.bonus != nullptr;
  const float* g = keys.G(args, segment.first);
  const float* q = keys.Q(args, segment.first);
  const float* k = keys.K(args, segment.first);
  std::fill_n(scratch.total, stride, 1.0f);
  for (int64_t first = 0; first < segment.rows; first += kBlock) {
    const int64_t rows = std::min(kBlock, segment.rows - first);
    LoadRows(q + first * args.q_stride, args.q_stride, rows, key_dim,
             static_cast<float>(args.scale), scratch.block_q, stride);
    LoadRows(k + first * args.k_stride, args.k_stride, rows, key_dim, 1, scratch.block_k, stride);
    DecayQueries(g + first * g_stride, g_stride, rows, key_dim, bonus, scratch.q + first * stride,
                 scratch);
    float* const scores = scratch.scores + first * kChunk;
    for (int64_t r = 0; r < rows; r += kTileRows) {
      ScoreRows(scratch.block_q_decay + r * stride, stride, 1, scratch.k, key_dim, first,
                scores + r * kChunk);
    }
    ScoreBlock(rows, bonus, scratch.block_q, scratch.block_decay, scratch.block_k, stride,
               scores + first);
    DecayKeys(first, rows, key_dim, scratch);
    TransposeRows(scratch.block_k, stride, rows, kBlock, key_dim, first, scratch.k);
  }
}

// Queries, keys and scores of a segment under a scalar decay; the decay comes head by head.
void LoadScalarDecay(const LinearAttentionArgs& args, const Segment& segment,
                     const LinearKeys& keys, LinearScratch& scratch) {
  const float* q = keys.Q(args, segment.first);
  const float* k = keys.K(args, segment.first);
  LoadRows(q, args.q_stride, segment.rows, args.key_dim, static_cast<float>(args.scale), scratch.q,
           scratch.key_stride);
  TransposeRows(k, args.k_stride, segment.rows, kChunk, args.key_dim, 0, scratch.k);
  for (int64_t t = 0; t < segment.rows; t += kTileRows) {
    ScoreRows(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, scratch.k, args.key_dim,
              t + kTileRows, scratch.scores + t * kChunk);
  }
}

// P and the decays of one head under a scalar decay.
void DecayScores(const LinearAttentionArgs& args, const Segment& segment, int64_t head,
                 LinearScratch& scratch) {
  const Tag d;
  const bool bonus = args.bonus != nullptr, per_head = args.decay == DecayKind::kScalarPerHead;
  HWY_ALIGN float row[kChunk] = {};  // exp(b_t - b_j)
  float product = 1;
  for (int64_t t = 0; t < RoundUp(segment.rows, kTileRows); ++t) {
    const int64_t columns = RoundUp(t / kTileRows * kTileRows + kTileRows, kLanes);
    float* const scores = scratch.scores + t * kChunk;
    float* const decayed = scratch.decayed + t * kChunk;
    if (bonus) {
      Multiply(row, scores, columns, decayed);
      scratch.decay[t] = product;
    }
    float factor = 1;
    if (t < segment.rows) {
      factor = std::exp(args.g[per_head ? head : (segment.first + t) * args.heads + head]);
    }
    product *= factor;
    for (int64_t c = 0; c < columns; c += kLanes) {
      hn::Store(hn::Mul(hn::Set(d, factor), hn::Load(d, row + c)), d, row + c);
    }
    row[t] = 1;
    if (!bonus) {
      Multiply(row, scores, columns, decayed);
      scratch.decay[t] = product;
    }
    if (t == segment.rows - 1) {
      std::copy(row, row + kChunk, scratch.tail);
      std::fill_n(scratch.total, args.key_dim, product);
    }
  }
}

// The diagonal of P with a bonus: scale sum_k q u k.
void AddBonus(const LinearAttentionArgs& args, const Segment& segment, const LinearKeys& keys,
              int64_t head, LinearScratch& scratch) {
  const float* q = keys.Q(args, segment.first);
  const float* k = keys.K(args, segment.first);
  const float* const u = args.bonus + head * args.key_dim;
  for (int64_t t = 0; t < segment.rows; ++t) {
    scratch.decayed[t * kChunk + t] =
        static_cast<float>(args.scale) *
        TripleDot(q + t * args.q_stride, u, k + t * args.k_stride, args.key_dim);
  }
}

// One panel of one head over one segment. `state` is S0 and becomes S.
void RunPanel(const LinearAttentionArgs& args, const Segment& segment, const Panel& panel,
              Upcoming& upcoming, float* state, LinearScratch& scratch) {
  const bool scalar = args.decay != DecayKind::kVectorPerToken;
  const int64_t key_dim = args.key_dim, rows = segment.rows, width = args.heads * args.value_dim;
  float* const o = LinearOutputs(args, panel) + segment.first * width;
  LoadPanel(LinearValues(args, panel) + segment.first * args.v_stride, args.v_stride, rows,
            panel.columns, scratch.values);
  for (int64_t t = 0; t < rows; t += kTileRows) {
    Tile<> tile;
    tile.Clear();
    tile.Add(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, state, kPanel, key_dim);
    if (scalar) tile.ScaleRows(scratch.decay + t);
    tile.Add(scratch.decayed + t * kChunk, kChunk, 1, scratch.values, kPanel,
             std::min(t + kTileRows, rows));
    upcoming.Touch(kChunk / kTileRows);
    StoreOutput(tile, rows - t, panel.columns, o + t * width, width);
  }
  if (scalar) ScalePanelRows(scratch.values, rows, scratch.tail);
  for (int64_t i = 0; i < key_dim; i += kTileRows) {
    Tile<> tile;
    tile.Load(state + i * kPanel, kPanel);
    tile.ScaleRows(scratch.total + i);
    tile.Add(scratch.k + i * kChunk, kChunk, 1, scratch.values, kPanel, rows);
    tile.Store(state + i * kPanel, kPanel);
  }
}

class LinearVectors {
 public:
  static constexpr int64_t kPanelColumns = kPanel;

  LinearVectors(const LinearAttentionArgs& args, const MixerItem& item)
      : args_(args), keys_(args, 0), scratch_(args.key_dim, item.end - item.begin) {}

  float* StateOf(size_t panel) const {
    return scratch_.states + static_cast<int64_t>(panel) * scratch_.panel_size;
  }
  void LoadState(const float* stored, int64_t columns, float* state) const {
    LoadPanel(stored, args_.value_dim, args_.key_dim, columns, state);
  }
  void StoreState(float* stored, int64_t columns, const float* state) const {
    StorePanel(state, args_.key_dim, columns, stored, args_.value_dim);
  }
  auto Rows(const Panel& first, const Panel& last, int64_t first_group, int64_t last_group) const {
    return LinearRows(args_, first, last, first_group, last_group);
  }
  void PrepareKeys(const Segment& segment, int64_t group) {
    keys_ = LinearKeys(args_, group);
    if (args_.decay == DecayKind::kVectorPerToken) {
      LoadVectorDecay(args_, segment, keys_, scratch_);
    } else {
      LoadScalarDecay(args_, segment, keys_, scratch_);
    }
  }
  void PrepareHead(const Segment& segment, int64_t head) {
    if (args_.decay == DecayKind::kVectorPerToken) {
      std::copy_n(scratch_.scores, kChunk * kChunk, scratch_.decayed);
    } else {
      DecayScores(args_, segment, head, scratch_);
    }
    if (args_.bonus != nullptr) AddBonus(args_, segment, keys_, head, scratch_);
  }
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    HWY_NAMESPACE::RunPanel(args_, segment, panel, upcoming, state, scratch_);
  }

 private:
  const LinearAttentionArgs& args_;
  LinearKeys keys_;
  LinearScratch scratch_;
};

void RunLinearVectorsItem(const LinearAttentionArgs& args, const MixerItem& item) {
  LinearVectors work(args, item);
  const ChunkedSequence sequence = LinearSequence(args, item.sequence);
  ChunkedRun(item, sequence, work).Run();
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunLinearVectorsItem);

void RunLinearAttentionCpu(const LinearAttentionArgs& args) {
  RunLinearAttentionBy(args, BestChunkProducts());
}

void RunLinearAttentionBy(const LinearAttentionArgs& args, ChunkProducts products) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  RunItems(PartitionChunked(args.offsets, args.sequences, args.heads, args.value_dim),
           [&](const MixerItem& item) {
             if (products == ChunkProducts::kTiles) {
               RunLinearTilesItem(args, item);
             } else {
               HWY_DYNAMIC_DISPATCH(RunLinearVectorsItem)(args, item);
             }
           });
  RunLinearAttentionRecurrence(
      args, PartitionMixer(args.offsets, args.sequences, args.heads, blocks, PieceLength::kShort));
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
