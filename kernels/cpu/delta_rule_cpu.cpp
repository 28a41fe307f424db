// The chunked delta rule on the CPU. In a segment of up to 64 tokens with incoming state S0, decays
// p_t = exp(b_t) and D(t,j) = exp(b_t - b_j):
//   (I + A) U = beta (v - p K S0),  A(t,j) = beta_t D(t,j) k_t.k_j for j < t     [forward
//   substitution] o = scale (p Q S0 + P U),       P(t,j) = D(t,j) q_t.k_j for j <= t S = p_n S0 +
//   K^T (D(n,.) U)
// D is built from products of exp(g) <= 1, row by row: no difference of sums, no exponent above 0.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/delta_rule_cpu.cpp"
#include <array>
#include <cmath>

#include "core/check.h"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/mixer_recurrence.h"
#include "kernels/cpu/mixer_scratch.h"
#include "kernels/cpu/mixer_tile-inl.h"
#include "kernels/delta_rule.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

// Scratch of one item; the pointers share one allocation.
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
    const int64_t key_rows = RoundUp(key_dim, kTileRows), square = kChunk * kChunk;
    panel_size = key_rows * kPanel;
    float* next = ThreadScratch(kChunk * key_stride + key_rows * kChunk + 4 * square +
                                kChunk * kPanel + panel_size * (1 + units * kPanelsOfUnit));
    const auto take = [&](int64_t count) {
      float* const taken = next;
      next += count;
      return taken;
    };
    q = take(kChunk * RoundUp(key_stride, kLanes));
    k = take(key_rows * kChunk);
    std::fill(k, k + key_rows * kChunk, 0.0f);
    kk = take(square);
    qk = take(square);
    solve = take(square);
    scores = take(square);
    values = take(kChunk * kPanel);
    past = take(panel_size);
    states = take(panel_size * units * kPanelsOfUnit);
    std::fill(past, next, 0.0f);
  }
};

// Consecutive rows of one sequence inside one chunk, for one q/k head.
struct DeltaSegment {
  int64_t first, rows;
  bool starts_chunk, completes_chunk;  // false without NAtS-L
  int64_t completed;                   // chunks completed before in this call
  bool last;                           // of the call
};

void LoadKeys(const DeltaRuleArgs& args, const DeltaSegment& segment, int64_t qk_head,
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
void LoadDecays(const DeltaRuleArgs& args, const DeltaSegment& segment, int64_t head,
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
void RunPanel(const DeltaRuleArgs& args, const DeltaSegment& segment, const NatsDeltaState* nats,
              const Panel& panel, const std::array<Upcoming, 4>& upcoming, float* state,
              DeltaScratch& scratch) {
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
    for (const Upcoming& rows_ahead : upcoming) rows_ahead.Touch(t);
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

// What the next panel (or segment, which ends before row `end`) reads and writes.
std::array<Upcoming, 4> LookAhead(const DeltaRuleArgs& args, const DeltaSegment& segment,
                                  const std::vector<Panel>& panels, size_t current, int64_t qk_head,
                                  int64_t end) {
  const int64_t next_first = segment.first + segment.rows;
  const int64_t next_rows = std::min(kChunk, end - next_first);
  const bool wraps = current + 1 == panels.size();
  const Panel& panel = panels[wraps ? 0 : current + 1];
  const int64_t first = wraps ? next_first : segment.first;
  const int64_t rows = wraps ? next_rows : segment.rows;
  const int64_t width = args.value_heads * args.value_dim;
  const int64_t at = panel.head * args.value_dim + panel.column;
  const auto count = static_cast<int64_t>(panels.size()), p = static_cast<int64_t>(current);
  const int64_t from = next_rows * p / count, to = next_rows * (p + 1) / count;
  const int64_t key = qk_head * args.key_dim;
  return {{{static_cast<const float*>(args.v) + first * args.v_stride + at, args.v_stride,
            panel.columns, 0, rows},
           {static_cast<const float*>(args.o) + first * width + at, width, panel.columns, 0, rows},
           {static_cast<const float*>(args.q) + next_first * args.q_stride + key, args.q_stride,
            args.key_dim, from, to},
           {static_cast<const float*>(args.k) + next_first * args.k_stride + key, args.k_stride,
            args.key_dim, from, to}}};
}

// Groups are q/k heads; unit u is column block u % blocks of the group's value head u / blocks.
void RunDeltaRuleChunkedItem(const DeltaRuleArgs& args, const MixerItem& item) {
  const int64_t share = args.value_heads / args.heads, key_dim = args.key_dim;
  const NatsDeltaState* nats = args.nats == nullptr ? nullptr : &args.nats[item.sequence];
  DeltaScratch scratch(key_dim, item.end - item.begin);

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
  const int64_t begin = args.offsets[item.sequence], end = args.offsets[item.sequence + 1];
  DeltaSegment segment{};
  for (segment.first = begin; segment.first < end; segment.first += segment.rows) {
    const int64_t position = nats == nullptr ? 0 : nats->first_position + segment.first - begin;
    const int64_t in_chunk = position % kChunk;
    segment.rows = std::min(kChunk - in_chunk, end - segment.first);
    segment.last = segment.first + segment.rows == end;
    if (nats != nullptr) {
      segment.starts_chunk = in_chunk == 0;
      segment.completes_chunk = in_chunk + segment.rows == kChunk;
      segment.completed = position / kChunk - nats->first_position / kChunk;
    }
    LoadKeys(args, segment, item.group, scratch);
    int64_t decays_of = -1;
    for_panels([&](size_t p, const float*, float* state) {
      const int64_t head = panels[p].head;
      if (head != decays_of) LoadDecays(args, segment, head, scratch);
      decays_of = head;
      RunPanel(args, segment, nats, panels[p], LookAhead(args, segment, panels, p, item.group, end),
               state, scratch);
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

HWY_EXPORT(RunDeltaRuleChunkedItem);

void RunDeltaRuleCpu(const DeltaRuleArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t blocks = (args.value_dim + kUnitColumns - 1) / kUnitColumns;
  const int64_t share = args.value_heads / args.heads;
  RunItems(
      PartitionMixer(args.offsets, args.sequences, args.heads, share * blocks, PieceLength::kLong),
      [&](const MixerItem& item) {
        HWY_DYNAMIC_DISPATCH(RunDeltaRuleChunkedItem)
        (args, item);
      });
  RunDeltaRuleRecurrence(args, PartitionMixer(args.offsets, args.sequences, args.value_heads,
                                              blocks, PieceLength::kShort));
  StoreChunkLogDecay(args);
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
