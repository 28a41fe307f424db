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
        keys_(RoundUp(args.key_dim, kBlockDepth)) {
    const int64_t depth = keys_ / kBlockDepth;
    Scratch::Fill([&](Scratch& scratch) {
      k_transposed_ = scratch.Take(keys_ * kChunk);
      k_ = TakeOperand(scratch, kChunkBlocks, depth);
      q_ = TakeOperand(scratch, kChunkBlocks, depth);
      k_columns_ = TakeOperand(scratch, kChunkBlocks, depth);
      k_rows_ = TakeOperand(scratch, keys_ / kBlockRows, kChunkDepth);
      k_read_ = TakeOperand(scratch, kChunkBlocks, depth);
      q_read_ = TakeOperand(scratch, kChunkBlocks, depth);
      inverse_ = TakeOperand(scratch, kChunkBlocks, kChunkDepth);
      scores_ = TakeOperand(scratch, kChunkBlocks, kChunkDepth);
      state_columns_ = TakeOperand(scratch, kPanelBlocks, depth);
      past_columns_ = TakeOperand(scratch, kPanelBlocks, depth);
      residuals_ = TakeOperand(scratch, kPanelBlocks, kChunkDepth);
      updates_ = TakeOperand(scratch, kPanelBlocks, kChunkDepth);
      for (float** square : {&kk_, &qk_, &lower_, &decayed_qk_, &solved_}) {
        *square = scratch.Take(kSquare);
      }
      for (float** panel : {&values_, &buffer_}) *panel = scratch.Take(kChunk * kPanel);
      past_ = scratch.Take(keys_ * kPanel);
      for (float** row : {&ones_, &factors_}) *row = scratch.Take(std::max(keys_, kChunk));
      states_ = scratch.Take(keys_ * kPanel * (item.end - item.begin));
    });
    std::fill_n(ones_, std::max(keys_, kChunk), 1.0f);
    std::fill_n(solved_, kSquare, 0.0f);  // above the diagonal it stays so
  }

  float* StateOf(size_t panel) const {
    return states_ + static_cast<int64_t>(panel) * keys_ * kPanel;
  }
  void LoadState(const float* stored, int64_t columns, float* state) const {
    LoadPanel(stored, args_.value_dim, args_.key_dim, keys_, columns, ones_, state);
  }
  void StoreState(float* stored, int64_t columns, const float* state) const {
    StorePanel(state, args_.key_dim, columns, stored, args_.value_dim);
  }

  auto Rows(const Panel& first, const Panel& last, int64_t first_group, int64_t last_group) const {
    return DeltaRows(args_, first, last, first_group, last_group);
  }

  void PrepareKeys(const Segment& segment, int64_t group) {
    qk_head_ = group;
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kBlockDepth);
    const float* const k = static_cast<const float*>(args_.k) + segment.first * args_.k_stride;
    Transpose(k + qk_head_ * args_.key_dim, args_.k_stride, rows, kChunk, args_.key_dim,
              k_transposed_, kChunk);
    PackRight(k_transposed_, kChunk, tokens, keys_ / kBlockDepth, ones_, k_columns_);
    PackLeft(k_transposed_, kChunk, keys_, keys_, kChunk, ones_, k_rows_);
    PackTokens(
        args_.k, args_.k_stride, segment, [](int64_t) { return 1.0f; }, k_);
    const auto scale = static_cast<float>(args_.scale);
    PackTokens(
        args_.q, args_.q_stride, segment, [&](int64_t) { return scale; }, q_);
    MultiplyScores(k_, k_columns_, tokens, kk_);
    MultiplyScores(q_, k_columns_, tokens, qk_);
  }

  void PrepareHead(const Segment& segment, int64_t head) {
    const int64_t tokens = RoundUp(segment.rows, kBlockDepth);
    alignas(64) float row[kChunk] = {};  // D(t,.)
    float product = 1;
    for (int64_t t = 0; t < tokens; ++t) {
      const bool real = t < segment.rows;
      const int64_t at = (segment.first + t) * args_.value_heads + head;
      const float factor = !real || args_.g == nullptr ? 1 : std::exp(args_.g[at]);
      product *= factor;
      decay_[t] = product;
      beta_[t] = real ? args_.beta[at] : 0;
      const __m512 factors = _mm512_set1_ps(factor), negative_beta = _mm512_set1_ps(-beta_[t]);
      for (int64_t c = 0; c < RoundUp(t + 1, kBlockDepth); c += kLanes) {
        const __m512 decayed = _mm512_mul_ps(factors, _mm512_load_ps(row + c));
        const __m512 score = _mm512_mul_ps(decayed, _mm512_load_ps(kk_ + t * kChunk + c));
        _mm512_store_ps(row + c, decayed);
        _mm512_store_ps(lower_ + t * kChunk + c, _mm512_mul_ps(negative_beta, score));
      }
      row[t] = 1;
      for (int64_t c = 0; c < RoundUp(t + 1, kBlockDepth); c += kLanes) {
        const __m512 score = _mm512_load_ps(qk_ + t * kChunk + c);
        _mm512_store_ps(decayed_qk_ + t * kChunk + c,
                        _mm512_mul_ps(_mm512_load_ps(row + c), score));
      }
      if (t == segment.rows - 1) std::copy(row, row + kChunk, tail_);
    }
    PackLeft(decayed_qk_, kChunk, tokens, tokens, kChunk, ones_, scores_);
    Invert(lower_, tokens, solved_);
    PackLeft(solved_, kChunk, tokens, tokens, kChunk, ones_, inverse_);

    past_decay_ = 1;
    if (nats_ != nullptr && !segment.starts_chunk) {
      past_decay_ = std::exp(nats_->chunk_log_decay[head]);
    }
    const float scale = static_cast<float>(args_.scale) * (PastOnly() ? past_decay_ : 1);
    PackTokens(
        args_.k, args_.k_stride, segment, [&](int64_t t) { return -beta_[t] * decay_[t]; },
        k_read_);
    PackTokens(
        args_.q, args_.q_stride, segment, [&](int64_t t) { return scale * decay_[t]; }, q_read_);
  }

  // `state` is S0 and becomes S.
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    const auto [head, column, columns] = panel;
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kBlockDepth);
    const int64_t padded = RoundUp(columns, 2 * kLanes), token_depth = tokens / kBlockDepth;
    const int64_t depth = keys_ / kBlockDepth, width = args_.value_heads * args_.value_dim;
    const int64_t at = head * args_.value_dim + column;
    const int64_t parts = (tokens * 3 + keys_) * padded / (4 * kBlockRows * kLanes);
    float* const chunk_start =
        nats_ == nullptr ? nullptr
                         : nats_->chunk_start + head * args_.key_dim * args_.value_dim + column;
    const bool drop =
        segment.completes_chunk && nats_->keep[segment.completed * args_.value_heads + head] == 0;
    if (segment.last && segment.starts_chunk && !segment.completes_chunk) {
      StoreState(chunk_start, columns, state);
    }

    // What the state becomes before the segment's own updates.
    const float total = decay_[rows - 1];
    const float back = args_.decay_over_softmax_chunks ? past_decay_ * total : 1;
    std::fill_n(factors_, keys_, drop ? back : total);
    PackRightThenScale(state, kPanel, padded, factors_, state_columns_);
    Operand past = state_columns_;
    if (chunk_start != nullptr && !segment.starts_chunk && (PastOnly() || drop)) {
      LoadState(chunk_start, columns, past_);
      PackRight(past_, kPanel, padded, depth, ones_, past_columns_);
      past = past_columns_;
      if (drop) LoadPanel(past_, kPanel, keys_, keys_, kPanel, factors_, state);
    }

    const auto* v = static_cast<const float*>(args_.v) + segment.first * args_.v_stride + at;
    LoadPanel(v, args_.v_stride, rows, tokens, columns, beta_, values_);
    MultiplyPanel(values_, {{k_read_, state_columns_, depth}, {}}, tokens, padded, upcoming, parts,
                  values_, kPanel);
    PackRight(values_, kPanel, padded, token_depth, ones_, residuals_);
    MultiplyPanel(nullptr, {{}, {inverse_, residuals_, token_depth}}, tokens, padded, upcoming,
                  parts, values_, kPanel);
    PackRight(values_, kPanel, padded, token_depth, ones_, updates_);
    Sum output = {{q_read_, PastOnly() ? past : state_columns_, depth}, {}};
    if (!PastOnly()) output.lower = {scores_, updates_, token_depth};
    float* const o = static_cast<float*>(args_.o) + segment.first * width + at;
    MultiplyToOutput(nullptr, output, rows, columns, upcoming, parts, buffer_, o, width);
    if (drop) return;
    PackRight(values_, kPanel, padded, token_depth, tail_, updates_);
    MultiplyPanel(state, {{k_rows_, updates_, token_depth}, {}}, keys_, padded, upcoming, parts,
                  state, kPanel);
  }

 private:
  bool PastOnly() const { return args_.own_chunk == OwnChunkRule::kPastOnly; }

  // Left operand of the q/k head's rows, row t times factor(t).
  template <typename Factor>
  void PackTokens(const void* from, int64_t stride, const Segment& segment, const Factor& factor,
                  const Operand& to) {
    for (int64_t t = 0; t < segment.rows; ++t) factors_[t] = factor(t);
    PackLeft(static_cast<const float*>(from) + segment.first * stride + qk_head_ * args_.key_dim,
             stride, segment.rows, RoundUp(segment.rows, kBlockDepth), args_.key_dim, factors_, to);
  }

  const DeltaRuleArgs& args_;
  const NatsDeltaState* nats_;  // null: the plain rule
  int64_t qk_head_ = 0;
  int64_t keys_;                          // K, rounded up
  float* k_transposed_;                   // [keys, 64]
  Operand k_, q_, k_columns_;             // of k k^T and q k^T
  Operand k_rows_;                        // K^T
  Operand k_read_, q_read_;               // -beta p K, scale p Q
  Operand inverse_, scores_;              // T, P
  Operand state_columns_, past_columns_;  // S0, the chunk-start state
  Operand residuals_, updates_;           // R; U, then D(n,.) U
  float *kk_, *qk_, *lower_;              // [64, 64]: k_t.k_j, scale q_t.k_j, -A
  float *decayed_qk_, *solved_;           // [64, 64]: P, T
  float* values_;                         // a panel of 64 rows: beta v, then R, then U
  float* buffer_;                         // a panel of 64 rows: outputs at an edge
  float* past_;                           // a panel of `keys` rows
  float* states_;                         // the same for each panel
  float *ones_, *factors_;                // [max(keys, 64)]
  float past_decay_;                      // from the chunk's start to the segment's
  float decay_[kChunk] = {};              // p
  float beta_[kChunk] = {};
  float tail_[kChunk] = {};  // D(n,.)
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
