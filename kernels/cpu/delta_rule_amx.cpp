// The chunked delta rule in AMX tiles. The segment's equations are those of delta_rule_cpu.cpp;
// here the triangular system is solved by its inverse T = (I + A)^-1, so that all but T are
// products:
//   R = beta v - (beta p K) S0;  U = T R;  o = (scale p Q) S0 + P U;  S = p_n S0 + K^T (D(n,.) U)
// T is computed in float32, block by block, from the diagonal down.
#include "kernels/cpu/amx_panel.h"
#include "kernels/cpu/delta_rule_chunks.h"
#include "kernels/cpu/mixer_chunked.h"

#if NATSL_AMX
#include <cmath>

NATSL_AMX_BEGIN
namespace natsl::kernels {
namespace {

using namespace amx;

constexpr int64_t kSquare = kChunk * kChunk;

/// inverse [tokens, 64] = (I - lower)^-1 of a strictly lower triangular matrix [tokens, 64]; blocks
/// of 16 by 16 above the diagonal of blocks aren't written.
void Invert(const float* lower, int64_t tokens, float* inverse) {
  const int64_t blocks = tokens / kLanes;
  const auto row_of = [&](int64_t block, int64_t row, int64_t column_block) {
    return inverse + (block * kLanes + row) * kChunk + column_block * kLanes;
  };
  // Row r is e_r plus the rows above it; the blocks are independent chains.
  for (int64_t r = 0; r < kLanes; ++r) {
    __m512 sums[kChunkBlocks];
    for (int64_t b = 0; b < blocks; ++b) {
      sums[b] = _mm512_maskz_mov_ps(static_cast<__mmask16>(1u << r), _mm512_set1_ps(1));
    }
    for (int64_t s = 0; s < r; ++s) {
      for (int64_t b = 0; b < blocks; ++b) {
        const float factor = lower[(b * kLanes + r) * kChunk + b * kLanes + s];
        sums[b] = _mm512_fmadd_ps(_mm512_set1_ps(factor), _mm512_load_ps(row_of(b, s, b)), sums[b]);
      }
    }
    for (int64_t b = 0; b < blocks; ++b) _mm512_store_ps(row_of(b, r, b), sums[b]);
  }
  // rows += factors [16, 16 of stride 64] times 16 rows of `inverse`.
  const auto add = [](const float* factors, const float* from, __m512* rows) {
    for (int64_t half = 0; half < kLanes; half += 8) {
      __m512 sums[8];
#pragma GCC unroll 8
      for (int64_t r = 0; r < 8; ++r) sums[r] = rows[half + r];
      for (int64_t s = 0; s < kLanes; ++s) {
        const __m512 x = _mm512_loadu_ps(from + s * kChunk);
#pragma GCC unroll 8
        for (int64_t r = 0; r < 8; ++r) {
          sums[r] = _mm512_fmadd_ps(_mm512_set1_ps(factors[(half + r) * kChunk + s]), x, sums[r]);
        }
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < 8; ++r) rows[half + r] = sums[r];
    }
  };
  alignas(64) float product[kLanes * kChunk];
  for (int64_t i = 1; i < blocks; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      __m512 rows[kLanes] = {};
      for (int64_t m = j; m < i; ++m) {
        add(lower + i * kLanes * kChunk + m * kLanes, row_of(m, 0, j), rows);
      }
      for (int64_t r = 0; r < kLanes; ++r) {
        _mm512_store_ps(product + r * kChunk, rows[r]);
        rows[r] = _mm512_setzero_ps();
      }
      add(row_of(i, 0, i), product, rows);
      for (int64_t r = 0; r < kLanes; ++r) _mm512_store_ps(row_of(i, r, j), rows[r]);
    }
  }
}

class DeltaTiles {
 public:
  static constexpr int64_t kPanelColumns = kPanel;

  DeltaTiles(const DeltaRuleArgs& args, const MixerItem& item)
      : args_(args),
        nats_(args.nats == nullptr ? nullptr : &args.nats[item.sequence]),
        width_(RoundUp(args.key_dim, kBlockDepth)) {
    const int64_t depth = width_ / kBlockDepth;
    Scratch::Fill([&](Scratch& scratch) {
      keys_.Take(scratch, width_);
      for (Operand* tokens : {&k_, &q_}) *tokens = TakeOperand(scratch, kChunkBlocks, depth);
      inverse_ = TakeOperand(scratch, kChunkBlocks, 1);
      scores_ = TakeOperand(scratch, kChunkBlocks, 1);
      state_ = TakeOperand(scratch, kPanelBlocks, depth);
      past_ = TakeOperand(scratch, kPanelBlocks, depth);
      for (Operand* tokens : {&residuals_, &updates_, &decayed_updates_}) {
        *tokens = TakeOperand(scratch, kPanelBlocks, 1);
      }
      for (float** square : {&kk_, &qk_, &lower_, &decayed_qk_, &solved_}) {
        *square = scratch.Take(kSquare);
      }
      values_ = scratch.Take(kChunk * kPanel);
      past_panel_ = scratch.Take(width_ * kPanel + kPanel);
      for (float** row : {&q_units_, &k_read_, &q_read_, &inverse_units_, &scores_units_,
                          &state_units_, &past_units_, &token_units_, &decayed_units_}) {
        *row = scratch.Take(kChunk);
      }
      factors_ = scratch.Take(width_);
      states_ = scratch.Take((width_ * kPanel + kPanel) * (item.end - item.begin));
    });
    std::fill_n(solved_, kSquare, 0.0f);  // above the diagonal it stays so
    std::fill_n(decayed_qk_, kSquare, 0.0f);
  }

  float* StateOf(size_t panel) const {
    return states_ + static_cast<int64_t>(panel) * (width_ * kPanel + kPanel);
  }
  void LoadState(const float* stored, int64_t columns, float* state) const {
    LoadPanel(stored, args_.value_dim, args_.key_dim, width_, columns, state, SizesOf(state));
  }
  void StoreState(float* stored, int64_t columns, const float* state) const {
    StorePanel(state, args_.key_dim, columns, stored, args_.value_dim);
  }

  auto Rows(const Panel& first, const Panel& last, int64_t first_group, int64_t last_group) const {
    return DeltaRows(args_, first, last, first_group, last_group);
  }

  void PrepareKeys(const Segment& segment, int64_t group) {
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kBlockRows);
    const float* const k = static_cast<const float*>(args_.k) + segment.first * args_.k_stride;
    const float* const q = static_cast<const float*>(args_.q) + segment.first * args_.q_stride;
    keys_.Load(k + group * args_.key_dim, args_.k_stride, rows, args_.key_dim, width_);
    IntegersToLeft(keys_.integers, width_, kChunk, k_);
    PackLeft(q + group * args_.key_dim, args_.q_stride, rows, tokens, args_.key_dim, q_, q_units_);
    for (int64_t t = 0; t < tokens; ++t) q_units_[t] *= static_cast<float>(args_.scale);
    MultiplyScores(k_, keys_.units, keys_.columns, keys_.units, tokens, kk_);
    MultiplyScores(q_, q_units_, keys_.columns, keys_.units, tokens, qk_);
  }

  void PrepareHead(const Segment& segment, int64_t head) {
    const int64_t tokens = RoundUp(segment.rows, kBlockRows);
    past_decay_ = 1;
    if (nats_ != nullptr && !segment.starts_chunk) {
      past_decay_ = std::exp(nats_->chunk_log_decay[head]);
    }
    alignas(64) float row[kChunk] = {};  // D(t,.)
    float product = 1;
    for (int64_t t = 0; t < tokens; ++t) {
      const bool real = t < segment.rows;
      const int64_t at = (segment.first + t) * args_.value_heads + head;
      const float factor = !real || args_.g == nullptr ? 1 : std::exp(args_.g[at]);
      product *= factor;
      beta_[t] = real ? args_.beta[at] : 0;
      k_read_[t] = -beta_[t] * product * keys_.units[t];
      q_read_[t] = (PastOnly() ? past_decay_ : 1) * product * q_units_[t];
      const __m512 factors = _mm512_set1_ps(factor), negative_beta = _mm512_set1_ps(-beta_[t]);
      for (int64_t c = 0; c <= t; c += kLanes) {
        const __m512 decayed = _mm512_mul_ps(factors, _mm512_load_ps(row + c));
        const __m512 score = _mm512_mul_ps(decayed, _mm512_load_ps(kk_ + t * kChunk + c));
        _mm512_store_ps(row + c, decayed);
        _mm512_store_ps(lower_ + t * kChunk + c, _mm512_mul_ps(negative_beta, score));
      }
      row[t] = 1;
      for (int64_t c = 0; c <= t; c += kLanes) {
        const __m512 score = _mm512_load_ps(qk_ + t * kChunk + c);
        _mm512_store_ps(decayed_qk_ + t * kChunk + c,
                        _mm512_mul_ps(_mm512_load_ps(row + c), score));
      }
      if (t == segment.rows - 1) {
        total_ = product;
        for (int64_t j = 0; j < kChunk; ++j) tail_[j] = row[j] * keys_.units[j];
      }
    }
    PackLeft(decayed_qk_, kChunk, tokens, tokens, kChunk, scores_, scores_units_);
    Invert(lower_, tokens, solved_);
    PackLeft(solved_, kChunk, tokens, tokens, kChunk, inverse_, inverse_units_);
  }

  // `state` is S0 and becomes S.
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    const auto [head, column, columns_of_panel] = panel;
    const int64_t columns = columns_of_panel, rows = segment.rows;
    const int64_t tokens = RoundUp(rows, kBlockRows), padded = RoundUp(columns, kLanes);
    const int64_t at = head * args_.value_dim + column;
    float* const chunk_start =
        nats_ == nullptr ? nullptr
                         : nats_->chunk_start + head * args_.key_dim * args_.value_dim + column;
    const bool drop =
        segment.completes_chunk && nats_->keep[segment.completed * args_.value_heads + head] == 0;
    if (segment.last && segment.starts_chunk && !segment.completes_chunk) {
      StoreState(chunk_start, columns, state);
    }

    // Copies, which the compiler knows no store changes.
    const float* const v = static_cast<const float*>(args_.v) + segment.first * args_.v_stride + at;
    const int64_t v_stride = args_.v_stride;
    float* const values = values_;
    const float *const beta = beta_, *const k_read = k_read_, *const solved = inverse_units_;
    std::fill_n(values + tokens * kPanel, (kChunk - tokens) * kPanel, 0.0f);
    PanelSizes residual_sizes, update_sizes, decayed_sizes;
    PackPanel(state, padded, SizesOf(state), state_, state_units_);
    MultiplyPanel(
        k_, state_, state_units_, tokens, padded,
        residual_sizes, [=](int64_t t, int64_t c, __m512 x) __attribute__((always_inline)) {
          const __m512 value = Load(v + t * v_stride + c, t < rows ? columns - c : 0);
          x = _mm512_mul_ps(x, _mm512_set1_ps(k_read[t]));
          x = _mm512_fmadd_ps(value, _mm512_set1_ps(beta[t]), x);
          _mm512_store_ps(values + t * kPanel + c, x);
          return x;
        });
    PackPanel(values_, padded, residual_sizes, residuals_, token_units_);
    MultiplyPanel(
        inverse_, residuals_, token_units_, tokens, padded,
        update_sizes, [=](int64_t t, int64_t c, __m512 x) __attribute__((always_inline)) {
          x = _mm512_mul_ps(x, _mm512_set1_ps(solved[t]));
          _mm512_store_ps(values + t * kPanel + c, x);
          return x;
        });

    Operand read = state_;
    const float* read_units = state_units_;
    if (chunk_start != nullptr && !segment.starts_chunk && (PastOnly() || drop)) {
      PanelSizes& past_sizes = SizesOf(past_panel_);
      LoadPanel(chunk_start, args_.value_dim, args_.key_dim, width_, columns, past_panel_,
                past_sizes);
      if (PastOnly()) {
        PackPanel(past_panel_, padded, past_sizes, past_, past_units_);
        read = past_;
        read_units = past_units_;
      }
      if (drop) std::copy_n(past_panel_, width_ * kPanel, state);
    }
    const int64_t width = args_.value_heads * args_.value_dim;
    float* const o = static_cast<float*>(args_.o) + segment.first * width + at;
    const OutputTerms terms = {q_,      read,       scores_,       updates_,
                               q_read_, read_units, scores_units_, token_units_};
    if (PastOnly()) {
      WriteOutput<false>(terms, rows, columns, upcoming, o, width);
    } else {
      PackPanel(values_, padded, update_sizes, updates_, token_units_);
      WriteOutput<true>(terms, rows, columns, upcoming, o, width);
    }
    if (drop) {
      std::fill_n(factors_, width_, args_.decay_over_softmax_chunks ? past_decay_ * total_ : 1);
      ScalePanel(state, width_, factors_, state, SizesOf(state));
      return;
    }
    ScalePanel(values_, tokens, tail_, values_, decayed_sizes);
    const __m512 total = _mm512_set1_ps(total_);
    PackPanel(values_, padded, decayed_sizes, decayed_updates_, decayed_units_);
    MultiplyPanel(
        keys_.rows_of_channels, decayed_updates_, decayed_units_, width_, padded,
        SizesOf(state), [=](int64_t i, int64_t c, __m512 x) __attribute__((always_inline)) {
          float* const cell = state + i * kPanel + c;
          x = _mm512_fmadd_ps(total, _mm512_load_ps(cell), x);
          _mm512_store_ps(cell, x);
          return x;
        });
  }

 private:
  bool PastOnly() const { return args_.own_chunk == OwnChunkRule::kPastOnly; }

  // The sizes of a panel of states lie behind it.
  PanelSizes& SizesOf(float* state) const {
    return *reinterpret_cast<PanelSizes*>(state + width_ * kPanel);
  }

  const DeltaRuleArgs& args_;
  const NatsDeltaState* nats_;  // null: the plain rule
  int64_t width_;               // K, rounded up
  Keys keys_;
  Operand k_, q_;
  Operand inverse_, scores_;                       // T, P
  Operand state_, past_;                           // S0, the chunk-start state
  Operand residuals_, updates_, decayed_updates_;  // R, U, D(n,.) U with the keys' units
  float *kk_, *qk_, *lower_;                       // [64, 64]: k_t.k_j, scale q_t.k_j, -A
  float *decayed_qk_, *solved_;                    // [64, 64]: P, T
  float* factors_;                                 // [width_]
  float* values_;                                  // a panel of 64 rows: R, then U
  float* past_panel_;                              // a panel of `width_` rows
  float* states_;                                  // the same for each panel
  // Units of tokens, with what else multiplies their rows: scale; -beta p; scale p.
  float *q_units_, *k_read_, *q_read_;
  float *inverse_units_, *scores_units_;                              // of rows
  float *state_units_, *past_units_, *token_units_, *decayed_units_;  // of columns
  float past_decay_ = 1;  // from the chunk's start to the segment's
  float total_ = 1;       // p_n
  float beta_[kChunk] = {};
  float tail_[kChunk] = {};  // D(n,.) times the keys' units
};

}  // namespace

void RunDeltaRuleTilesItem(const DeltaRuleArgs& args, const MixerItem& item) {
  const AmxTiles tiles;
  DeltaTiles work(args, item);
  const ChunkedSequence sequence = DeltaSequence(args, item.sequence);
  ChunkedRun(item, sequence, work).Run();
}

}  // namespace natsl::kernels
NATSL_AMX_END

#else

#include "core/error.h"

namespace natsl::kernels {

void RunDeltaRuleTilesItem(const DeltaRuleArgs&, const MixerItem&) {
  throw InternalError("delta rule in tiles: compiled without them");
}

}  // namespace natsl::kernels

#endif  // NATSL_AMX
