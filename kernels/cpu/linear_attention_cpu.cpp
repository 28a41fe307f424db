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
#include <array>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/mixer_exp-inl.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"
#include "kernels/cpu/mixer_tile-inl.h"
#include "kernels/linear_attention.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

constexpr int64_t kBlock = 16;  // tokens of a block of the vector decay
static_assert(kChunk % kBlock == 0 && kBlock % kTileRows == 0);

// Scratch of one item; the pointers share one allocation.
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
    const int64_t count =
        2 * matrix + 2 * square + kChunk * kPanel + states_size + 4 * block + 2 * key_stride;
    float* next = ThreadScratch(count);
    std::fill(next, next + count, 0.0f);
    const auto take = [&](int64_t size) {
      float* const taken = next;
      next += size;
      return taken;
    };
    q = take(matrix);
    k = take(matrix);
    scores = take(square);
    decayed = take(square);
    values = take(kChunk * kPanel);
    states = take(states_size);
    block_q = take(block);
    block_q_decay = take(block);
    block_k = take(block);
    block_decay = take(block);
    total = take(key_stride);
    block_total = take(key_stride);
  }
};

struct LinearSegment {
  int64_t first, rows, q_head, kv_head;
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
void LoadVectorDecay(const LinearAttentionArgs& args, const LinearSegment& segment,
                     LinearScratch& scratch) {
  const int64_t stride = scratch.key_stride, key_dim = args.key_dim;
  const int64_t g_stride = args.kv_heads * key_dim;
  const bool bonus = args.bonus != nullptr;
  const float* g = args.g + segment.first * g_stride + segment.kv_head * key_dim;
  const float* q =
      static_cast<const float*>(args.q) + segment.first * args.q_stride + segment.q_head * key_dim;
  const float* k =
      static_cast<const float*>(args.k) + segment.first * args.k_stride + segment.kv_head * key_dim;
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
void LoadScalarDecay(const LinearAttentionArgs& args, const LinearSegment& segment,
                     LinearScratch& scratch) {
  const auto* q = static_cast<const float*>(args.q) + segment.first * args.q_stride +
                  segment.q_head * args.key_dim;
  const auto* k = static_cast<const float*>(args.k) + segment.first * args.k_stride +
                  segment.kv_head * args.key_dim;
  LoadRows(q, args.q_stride, segment.rows, args.key_dim, static_cast<float>(args.scale), scratch.q,
           scratch.key_stride);
  TransposeRows(k, args.k_stride, segment.rows, kChunk, args.key_dim, 0, scratch.k);
  for (int64_t t = 0; t < segment.rows; t += kTileRows) {
    ScoreRows(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, scratch.k, args.key_dim,
              t + kTileRows, scratch.scores + t * kChunk);
  }
}

// P and the decays of one head under a scalar decay.
void DecayScores(const LinearAttentionArgs& args, const LinearSegment& segment, int64_t head,
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
void AddBonus(const LinearAttentionArgs& args, const LinearSegment& segment, int64_t head,
              LinearScratch& scratch) {
  const auto* q = static_cast<const float*>(args.q) + segment.first * args.q_stride +
                  segment.q_head * args.key_dim;
  const auto* k = static_cast<const float*>(args.k) + segment.first * args.k_stride +
                  segment.kv_head * args.key_dim;
  const float* const u = args.bonus + head * args.key_dim;
  for (int64_t t = 0; t < segment.rows; ++t) {
    scratch.decayed[t * kChunk + t] =
        static_cast<float>(args.scale) *
        TripleDot(q + t * args.q_stride, u, k + t * args.k_stride, args.key_dim);
  }
}

// One panel of one head over one segment. `state` is S0 and becomes S.
void RunPanel(const LinearAttentionArgs& args, const LinearSegment& segment, const Panel& panel,
              const std::array<Upcoming, 5>& upcoming, float* state, LinearScratch& scratch) {
  const auto [head, column, columns] = panel;
  const bool scalar = args.decay != DecayKind::kVectorPerToken;
  const int64_t key_dim = args.key_dim, rows = segment.rows, width = args.heads * args.value_dim;
  const int64_t v_head = head / (args.heads / args.v_heads);
  const auto* v = static_cast<const float*>(args.v) + segment.first * args.v_stride +
                  v_head * args.value_dim + column;
  float* const o =
      static_cast<float*>(args.o) + segment.first * width + head * args.value_dim + column;
  LoadPanel(v, args.v_stride, rows, columns, scratch.values);
  for (int64_t t = 0; t < rows; t += kTileRows) {
    Tile<> tile;
    tile.Clear();
    tile.Add(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, state, kPanel, key_dim);
    if (scalar) tile.ScaleRows(scratch.decay + t);
    tile.Add(scratch.decayed + t * kChunk, kChunk, 1, scratch.values, kPanel,
             std::min(t + kTileRows, rows));
    for (const Upcoming& rows_ahead : upcoming) rows_ahead.Touch(t);
    StoreOutput(tile, rows - t, columns, o + t * width, width);
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

// Heads that share q, k (and a vector decay).
int64_t GroupHeads(const LinearAttentionArgs& args) {
  return std::gcd(args.heads / args.q_heads, args.heads / args.kv_heads);
}

// What the next panel (or segment, which ends before row `end`) reads and writes.
std::array<Upcoming, 5> LookAhead(const LinearAttentionArgs& args, const LinearSegment& segment,
                                  const std::vector<Panel>& panels, size_t current, int64_t end) {
  const int64_t next_first = segment.first + segment.rows;
  const int64_t next_rows = std::min(kChunk, end - next_first);
  const bool wraps = current + 1 == panels.size();
  const Panel& panel = panels[wraps ? 0 : current + 1];
  const int64_t first = wraps ? next_first : segment.first;
  const int64_t rows = wraps ? next_rows : segment.rows;
  const int64_t width = args.heads * args.value_dim, key_dim = args.key_dim;
  const int64_t value = panel.head / (args.heads / args.v_heads) * args.value_dim + panel.column;
  const auto count = static_cast<int64_t>(panels.size()), p = static_cast<int64_t>(current);
  const int64_t from = next_rows * p / count, to = next_rows * (p + 1) / count;
  const int64_t g_stride = args.kv_heads * key_dim;
  const bool vector_decay = args.decay == DecayKind::kVectorPerToken;
  return {
      {{static_cast<const float*>(args.v) + first * args.v_stride + value, args.v_stride,
        panel.columns, 0, rows},
       {static_cast<const float*>(args.o) + first * width + panel.head * args.value_dim +
            panel.column,
        width, panel.columns, 0, rows},
       {static_cast<const float*>(args.q) + next_first * args.q_stride + segment.q_head * key_dim,
        args.q_stride, key_dim, from, to},
       {static_cast<const float*>(args.k) + next_first * args.k_stride + segment.kv_head * key_dim,
        args.k_stride, key_dim, from, to},
       {vector_decay ? args.g + next_first * g_stride + segment.kv_head * key_dim : nullptr,
        g_stride, key_dim, from, vector_decay ? to : from}}};
}

// Groups are runs of heads with the same q and k; unit u is column block u % blocks of head
// u / blocks of the group.
void RunLinearChunkedItem(const LinearAttentionArgs& args, const MixerItem& item) {
  const int64_t share = GroupHeads(args), key_dim = args.key_dim;
  const bool vector_decay = args.decay == DecayKind::kVectorPerToken;
  LinearScratch scratch(key_dim, item.end - item.begin);

  const std::vector<Panel> panels = ListPanels(item, share, args.value_dim);
  // Calls body(panel, its columns of the stored state, its state here) for each panel.
  const auto for_panels = [&](const auto& body) {
    for (size_t p = 0; p < panels.size(); ++p) {
      float* const stored =
          args.states[item.sequence] + panels[p].head * key_dim * args.value_dim + panels[p].column;
      body(p, stored, scratch.states + static_cast<int64_t>(p) * scratch.panel_size);
    }
  };
  for_panels([&](size_t p, const float* stored, float* state) {
    LoadPanel(stored, args.value_dim, key_dim, panels[p].columns, state);
  });
  LinearSegment segment{};
  segment.q_head = item.group * share / (args.heads / args.q_heads);
  segment.kv_head = item.group * share / (args.heads / args.kv_heads);
  const int64_t end = args.offsets[item.sequence + 1];
  for (segment.first = args.offsets[item.sequence]; segment.first < end;
       segment.first += segment.rows) {
    segment.rows = std::min(kChunk, end - segment.first);
    if (vector_decay) {
      LoadVectorDecay(args, segment, scratch);
    } else {
      LoadScalarDecay(args, segment, scratch);
    }
    int64_t scores_of = -1;
    for_panels([&](size_t p, const float*, float* state) {
      const int64_t head = panels[p].head;
      if (head != scores_of) {
        if (vector_decay) {
          std::copy_n(scratch.scores, kChunk * kChunk, scratch.decayed);
        } else {
          DecayScores(args, segment, head, scratch);
        }
        if (args.bonus != nullptr) AddBonus(args, segment, head, scratch);
      }
      scores_of = head;
      RunPanel(args, segment, panels[p], LookAhead(args, segment, panels, p, end), state, scratch);
    });
  }
  for_panels([&](size_t p, float* stored, const float* state) {
    StorePanel(state, key_dim, panels[p].columns, stored, args.value_dim);
  });
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunLinearChunkedItem);

void RunLinearAttentionCpu(const LinearAttentionArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  const int64_t share = std::gcd(args.heads / args.q_heads, args.heads / args.kv_heads);
  RunItems(PartitionMixer(args.offsets, args.sequences, args.heads / share, share * blocks,
                          PieceLength::kLong),
           [&](const MixerItem& item) {
             HWY_DYNAMIC_DISPATCH(RunLinearChunkedItem)
             (args, item);
           });
  RunLinearAttentionRecurrence(
      args, PartitionMixer(args.offsets, args.sequences, args.heads, blocks, PieceLength::kShort));
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
