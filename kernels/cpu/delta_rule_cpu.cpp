// The chunked delta rule on the CPU. In a segment of up to 64 tokens with incoming state S0, decays
// p_t = exp(b_t) and D(t,j) = exp(b_t - b_j):
//   (I + A) U = beta (v - p K S0),  A(t,j) = beta_t D(t,j) k_t.k_j for j < t     [forward
//   substitution] o = scale (p Q S0 + P U),       P(t,j) = D(t,j) q_t.k_j for j <= t S = p_n S0 +
//   K^T (D(n,.) U)
// D is built from products of exp(g) <= 1, row by row: no difference of sums, no exponent above 0.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/delta_rule_cpu.cpp"
#include <cmath>

#include "core/check.h"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/delta_rule_chunks.h"
#include "kernels/cpu/mixer_chunked.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"
#include "kernels/cpu/mixer_tile-inl.h"
#include "kernels/delta_rule.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

// Scratch of one item.
struct DeltaScratch {
  int64_t key_stride, panel_size;
  float* q;             // [64, key_stride], times scale
  float* k;             // [K rounded up, 64]: transposed
  float* kk;            // [64, 64] k_t.k_j, lower triangle
  float* qk;            // [64, 64] q_t.k_j, lower triangle
  float* solve;         // [64, 64] -A
  float* scores;        // [64, 64] P
  float* values;        // a panel of 64 rows: v, then U, then D(n,.) U
  float* past;          // a panel of K rows: the chunk-start state
  float* states;        // panels of K rows, all of the item's columns
  float decay[kChunk];  // p
  float beta[kChunk];
  float tail[kChunk];  // D(n,.)

  DeltaScratch(int64_t key_dim, int64_t units) {
    key_stride = RoundUp(key_dim, kLanes);
    const int64_t key_rows = RoundUp(key_dim, kTileRows);
    panel_size = key_rows * kPanel;
    const int64_t panels_size = panel_size * units * kPanelsOfUnit;
    Scratch::Fill([&](Scratch& scratch) {
      q = scratch.Take(kChunk * key_stride);
      k = scratch.Take(key_rows * kChunk);
      for (float** square : {&kk, &qk, &solve, &scores}) *square = scratch.Take(kChunk * kChunk);
      values = scratch.Take(kChunk * kPanel);
      past = scratch.Take(panel_size);
      states = scratch.Take(panels_size);
    });
    std::fill_n(k, key_rows * kChunk, 0.0f);
    std::fill_n(past, panel_size, 0.0f);
    std::fill_n(states, panels_size, 0.0f);
  }
};

void LoadKeys(const DeltaRuleArgs& args, const Segment& segment, int64_t qk_head,
              DeltaScratch& scratch) {
  const auto* q = static_cast<const float*>(args.q) + segment.first * args.q_stride;
  const auto* k = static_cast<const float*>(args.k) + segment.first * args.k_stride;
  const int64_t padded = RoundUp(segment.rows, kTileRows);
  LoadRows(q + qk_head * args.key_dim, args.q_stride, segment.rows, args.key_dim,
           static_cast<float>(args.scale), scratch.q, scratch.key_stride);
  TransposeRows(k + qk_head * args.key_dim, args.k_stride, segment.rows, kChunk, args.key_dim, 0,
                scratch.k);
  for (int64_t t = 0; t < padded; t += kTileRows) {
    ScoreRows(scratch.k + t, 1, kChunk, scratch.k, args.key_dim, t + kTileRows,
              scratch.kk + t * kChunk);
    ScoreRows(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, scratch.k, args.key_dim,
              t + kTileRows, scratch.qk + t * kChunk);
  }
}

// Decays, -A and P of one value head.
void LoadDecays(const DeltaRuleArgs& args, const Segment& segment, int64_t head,
                DeltaScratch& scratch) {
  const Tag d;
  HWY_ALIGN float row[kChunk] = {};  // D(t,.)
  float product = 1;
  for (int64_t t = 0; t < RoundUp(segment.rows, kTileRows); ++t) {
    const bool real = t < segment.rows;
    const int64_t at = (segment.first + t) * args.value_heads + head;
    const float factor = !real || args.g == nullptr ? 1 : std::exp(args.g[at]);
    product *= factor;
    scratch.decay[t] = product;
    scratch.beta[t] = real ? args.beta[at] : 0;
    const int64_t columns = RoundUp(t / kTileRows * kTileRows + kTileRows, kLanes);
    for (int64_t c = 0; c < columns; c += kLanes) {
      const Vec decayed = hn::Mul(hn::Set(d, factor), hn::Load(d, row + c));
      hn::Store(decayed, d, row + c);
      const Vec score = hn::Mul(decayed, hn::Load(d, scratch.kk + t * kChunk + c));
      hn::Store(hn::Mul(hn::Set(d, -scratch.beta[t]), score), d, scratch.solve + t * kChunk + c);
    }
    row[t] = 1;
    for (int64_t c = 0; c < columns; c += kLanes) {
      hn::Store(hn::Mul(hn::Load(d, row + c), hn::Load(d, scratch.qk + t * kChunk + c)), d,
                scratch.scores + t * kChunk + c);
    }
    if (t == segment.rows - 1) std::copy(row, row + kChunk, scratch.tail);
  }
}

// values: v becomes U.
void SolveUpdates(int64_t rows, int64_t key_dim, const float* state, DeltaScratch& scratch) {
  for (int64_t t = 0; t < rows; t += kTileRows) {
    Tile<> tile;
    tile.Clear();
    tile.Add(scratch.k + t, 1, kChunk, state, kPanel, key_dim);
    float* const values = scratch.values + t * kPanel;
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      const Vec decay = hn::Set(Tag(), scratch.decay[t + r]);
      const Vec beta = hn::Set(Tag(), scratch.beta[t + r]);
      HWY_UNROLL(4)
      for (int n = 0; n < kTileVectors; ++n) {
        const Vec v = hn::Load(Tag(), values + r * kPanel + n * kLanes);
        tile.rows[r][n] = hn::Mul(beta, hn::NegMulAdd(decay, tile.rows[r][n], v));
      }
    }
    const float* const solve = scratch.solve + t * kChunk;
    tile.Add(solve, kChunk, 1, scratch.values, kPanel, t);
    HWY_UNROLL(4)
    for (int r = 1; r < kTileRows; ++r) {
      HWY_UNROLL(4)
      for (int s = 0; s < r; ++s) {
        const Vec factor = hn::Set(Tag(), solve[r * kChunk + t + s]);
        HWY_UNROLL(4)
        for (int n = 0; n < kTileVectors; ++n) {
          tile.rows[r][n] = hn::MulAdd(factor, tile.rows[s][n], tile.rows[r][n]);
        }
      }
    }
    tile.Store(values, kPanel);
  }
}

// One panel of one value head over one segment. `state` is S0 and becomes S.
void RunPanel(const DeltaRuleArgs& args, const Segment& segment, const NatsDeltaState* nats,
              const Panel& panel, Upcoming& upcoming, float* state, DeltaScratch& scratch) {
  const auto [head, column, columns] = panel;
  const int64_t key_dim = args.key_dim, rows = segment.rows;
  const int64_t width = args.value_heads * args.value_dim, at = head * args.value_dim + column;
  const auto* v = static_cast<const float*>(args.v) + segment.first * args.v_stride + at;
  float* const o = static_cast<float*>(args.o) + segment.first * width + at;
  LoadPanel(v, args.v_stride, rows, columns, scratch.values);
  std::fill(scratch.values + rows * kPanel, scratch.values + kChunk * kPanel, 0.0f);
  SolveUpdates(rows, key_dim, state, scratch);

  const float* past = state;  // the chunk-start state, and the decay from there to the segment
  float past_decay = 1;
  float* chunk_start = nullptr;
  if (nats != nullptr) {
    chunk_start = nats->chunk_start + head * key_dim * args.value_dim + column;
    if (!segment.starts_chunk) {
      LoadPanel(chunk_start, args.value_dim, key_dim, columns, scratch.past);
      past = scratch.past;
      past_decay = std::exp(nats->chunk_log_decay[head]);
    }
  }
  const bool past_only = args.own_chunk == OwnChunkRule::kPastOnly;
  for (int64_t t = 0; t < rows; t += kTileRows) {
    Tile<> tile;
    tile.Clear();
    tile.Add(scratch.q + t * scratch.key_stride, scratch.key_stride, 1, past_only ? past : state,
             kPanel, key_dim);
    tile.ScaleRows(scratch.decay + t);
    if (past_only) {
      const float factors[kTileRows] = {past_decay, past_decay, past_decay, past_decay};
      tile.ScaleRows(factors);
    } else {
      tile.Add(scratch.scores + t * kChunk, kChunk, 1, scratch.values, kPanel,
               std::min(t + kTileRows, rows));
    }
    upcoming.Touch(kChunk / kTileRows);
    StoreOutput(tile, rows - t, columns, o + t * width, width);
  }

  const float total = scratch.decay[rows - 1];
  if (segment.completes_chunk && nats->keep[segment.completed * args.value_heads + head] == 0) {
    const float factor = args.decay_over_softmax_chunks ? past_decay * total : 1;
    for (int64_t i = 0; i < key_dim * kPanel; ++i) state[i] = factor * past[i];
    return;
  }
  if (segment.last && segment.starts_chunk && !segment.completes_chunk) {
    StorePanel(state, key_dim, columns, chunk_start, args.value_dim);
  }
  ScalePanelRows(scratch.values, rows, scratch.tail);
  const float factors[kTileRows] = {total, total, total, total};
  for (int64_t i = 0; i < key_dim; i += kTileRows) {
    Tile<> tile;
    tile.Load(state + i * kPanel, kPanel);
    tile.ScaleRows(factors);
    tile.Add(scratch.k + i * kChunk, kChunk, 1, scratch.values, kPanel, rows);
    tile.Store(state + i * kPanel, kPanel);
  }
}

class DeltaVectors {
 public:
  static constexpr int64_t kPanelColumns = kPanel;

  DeltaVectors(const DeltaRuleArgs& args, const MixerItem& item)
      : args_(args),
        nats_(args.nats == nullptr ? nullptr : &args.nats[item.sequence]),
        scratch_(args.key_dim, item.end - item.begin) {}

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
    return DeltaRows(args_, first, last, first_group, last_group);
  }
  void PrepareKeys(const Segment& segment, int64_t group) {
    LoadKeys(args_, segment, group, scratch_);
  }
  void PrepareHead(const Segment& segment, int64_t head) {
    LoadDecays(args_, segment, head, scratch_);
  }
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    HWY_NAMESPACE::RunPanel(args_, segment, nats_, panel, upcoming, state, scratch_);
  }

 private:
  const DeltaRuleArgs& args_;
  const NatsDeltaState* nats_;
  DeltaScratch scratch_;
};

void RunDeltaRuleVectorsItem(const DeltaRuleArgs& args, const MixerItem& item) {
  DeltaVectors work(args, item);
  const ChunkedSequence sequence = DeltaSequence(args, item.sequence);
  ChunkedRun(item, sequence, work).Run();
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunDeltaRuleVectorsItem);

// The tiles solve a chunk's system by its inverse. With beta |k|^2 above 1 the inverse's terms grow
// and cancel, and float32 loses digits that the vectors' forward substitution keeps.
void RunDeltaRuleCpu(const DeltaRuleArgs& args) {
  RunDeltaRuleBy(args, args.beta_above_one ? ChunkProducts::kVectors : BestChunkProducts());
}

void RunDeltaRuleBy(const DeltaRuleArgs& args, ChunkProducts products) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  RunItems(PartitionChunked(args.offsets, args.sequences, args.value_heads, args.value_dim),
           [&](const MixerItem& item) {
             if (products == ChunkProducts::kTiles) {
               RunDeltaRuleTilesItem(args, item);
             } else {
               HWY_DYNAMIC_DISPATCH(RunDeltaRuleVectorsItem)(args, item);
             }
           });
  RunDeltaRuleRecurrence(args, PartitionMixer(args.offsets, args.sequences, args.value_heads,
                                              blocks, PieceLength::kShort));
  StoreChunkLogDecay(args);
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
