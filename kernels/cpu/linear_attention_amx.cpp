// Chunked linear attention in AMX tiles. The equations are those of linear_attention_cpu.cpp. Under
// a vector decay the scores of a segment come from three levels, so that every factor is a product
// of exp(g) <= 1: the second half of 32 tokens against the first (queries carry the decay from the
// half's start, keys the decay to their half's end), inside a half the second block of 16 against
// the first likewise, and inside a block token by token.
#include "kernels/cpu/amx_panel.h"
#include "kernels/cpu/linear_attention_chunks.h"
#include "kernels/cpu/mixer_chunked.h"

#if NATSL_AMX
#include <type_traits>

NATSL_AMX_BEGIN
namespace natsl::kernels {
namespace {

using namespace amx;

constexpr int64_t kBlockTokens = 16, kHalfTokens = 32;
constexpr int64_t kSquare = kChunk * kChunk;

// scores [16, 16 of stride 64] of a block's queries with its own keys, j <= t, or j < t with a
// bonus; 0 elsewhere. Rows of q, decay and k are `stride` apart, a multiple of 32.
template <bool kBonus>
void ScoreBlock(const float* q, const float* decay, const float* k, int64_t stride, float* scores) {
  constexpr int kPairs = 4;                 // of vectors of a key held in registers
  __m512 sums[kBlockTokens][kBlockTokens];  // [t][j]
  for (auto& row : sums) std::fill_n(row, kBlockTokens, _mm512_setzero_ps());
  const auto run = [&](int64_t c, auto pairs) {
    constexpr int kWidth = 2 * decltype(pairs)::value;
    for (int64_t j = 0; j < kBlockTokens; ++j) {
      __m512 key[kWidth];
#pragma GCC unroll 8
      for (int n = 0; n < kWidth; ++n) key[n] = _mm512_load_ps(k + j * stride + c + n * kLanes);
      for (int64_t t = j + (kBonus ? 1 : 0); t < kBlockTokens; ++t) {
        const float* const query = q + t * stride + c;
        // With a bonus token t reads the state before its own decay.
        const int64_t last = kBonus ? t - 1 : t;
        const float* const factor = decay + last * stride + c;
        if (last > j) {
#pragma GCC unroll 8
          for (int n = 0; n < kWidth; ++n) {
            key[n] = _mm512_mul_ps(key[n], _mm512_load_ps(factor + n * kLanes));
          }
        }
        __m512 even = sums[t][j], odd = _mm512_setzero_ps();
#pragma GCC unroll 8
        for (int n = 0; n < kWidth; n += 2) {
          even = _mm512_fmadd_ps(key[n], _mm512_load_ps(query + n * kLanes), even);
          odd = _mm512_fmadd_ps(key[n + 1], _mm512_load_ps(query + (n + 1) * kLanes), odd);
        }
        sums[t][j] = _mm512_add_ps(even, odd);
      }
    }
  };
  int64_t c = 0;
  for (; c + 2 * kPairs * kLanes <= stride; c += 2 * kPairs * kLanes) {
    run(c, std::integral_constant<int, kPairs>());
  }
  for (; c < stride; c += 2 * kLanes) run(c, std::integral_constant<int, 1>());
  for (int64_t t = 0; t < kBlockTokens; ++t) {
    _mm512_store_ps(scores + t * kChunk, SumRows(sums[t]));
  }
}

class LinearTiles {
 public:
  static constexpr int64_t kPanelColumns = kPanel;

  LinearTiles(const LinearAttentionArgs& args, const MixerItem& item)
      : args_(args),
        vector_(args.decay == DecayKind::kVectorPerToken),
        scale_later_(!vector_ && args.value_dim <= kPanel),
        scale_(static_cast<float>(args.scale)),
        heads_(args, 0),
        keys_(RoundUp(args.key_dim, kBlockDepth)) {
    const int64_t depth = keys_ / kBlockDepth;
    Scratch::Fill([&](Scratch& scratch) {
      q_ = TakeOperand(scratch, kChunkBlocks, depth);
      k_columns_ = TakeOperand(scratch, kChunkBlocks, depth);
      q_read_ = TakeOperand(scratch, kChunkBlocks, depth);
      k_rows_ = TakeOperand(scratch, keys_ / kBlockRows, kChunkDepth);
      scores_ = TakeOperand(scratch, kChunkBlocks, kChunkDepth);
      state_columns_ = TakeOperand(scratch, kPanelBlocks, depth);
      v_columns_ = TakeOperand(scratch, kPanelBlocks, kChunkDepth);
      decayed_v_columns_ = TakeOperand(scratch, kPanelBlocks, kChunkDepth);
      qk_ = scratch.Take(kSquare);
      for (float** panel : {&values_, &buffer_}) *panel = scratch.Take(kChunk * kPanel);
      for (float** row : {&ones_, &factors_}) *row = scratch.Take(std::max(keys_, kChunk));
      total_ = scratch.Take(keys_);
      for (float** rows : {&q_rows_, &k_plain_, &decays_}) *rows = scratch.Take(kChunk * keys_);
      states_ = scratch.Take(keys_ * kPanel * (item.end - item.begin));
    });
    std::fill_n(ones_, std::max(keys_, kChunk), 1.0f);
    std::fill_n(qk_, kSquare, 0.0f);
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
    return LinearRows(args_, first, last, first_group, last_group);
  }

  void PrepareKeys(const Segment& segment, int64_t group) {
    heads_ = LinearKeys(args_, group);
    if (vector_) {
      PrepareVectorDecay(segment);
      return;
    }
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kHalfTokens);
    float* const transposed = decays_;
    Transpose(heads_.K(args_, segment.first), args_.k_stride, rows, kChunk, args_.key_dim,
              transposed, kChunk);
    PackRight(transposed, kChunk, tokens, keys_ / kBlockDepth, ones_, k_columns_);
    PackLeft(transposed, kChunk, keys_, keys_, kChunk, ones_, k_rows_);
    PackQueries(
        segment, [&](int64_t) { return scale_; }, q_);
    MultiplyScores(q_, k_columns_, tokens, qk_);
  }

  void PrepareHead(const Segment& segment, int64_t head) {
    if (vector_) {
      if (args_.bonus != nullptr) {
        BonusScores(segment, args_.bonus + head * args_.key_dim);
        for (int64_t t = 0; t < segment.rows; ++t) qk_[t * (kChunk + 1)] = bonus_[t];
      }
      const int64_t tokens = RoundUp(segment.rows, kHalfTokens);
      PackLeft(qk_, kChunk, tokens, tokens, kChunk, ones_, scores_);
      return;
    }
    DecayScores(segment, head);
    if (scale_later_) {
      q_read_ = q_;
    } else {
      PackQueries(
          segment, [&](int64_t t) { return scale_ * decay_[t]; }, q_read_);
    }
  }

  // `state` is S0 and becomes S.
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kHalfTokens);
    const int64_t padded = RoundUp(panel.columns, 2 * kLanes),
                  width = args_.heads * args_.value_dim;
    const int64_t depth = keys_ / kBlockDepth, token_depth = tokens / kBlockDepth;
    const int64_t parts = (tokens + keys_) * padded / (4 * kBlockRows * kLanes);
    const float* const v = LinearValues(args_, panel) + segment.first * args_.v_stride;
    float* const o = LinearOutputs(args_, panel) + segment.first * width;
    PackRows(v, args_.v_stride, rows, panel.columns, padded, token_depth, vector_ ? nullptr : tail_,
             v_columns_, decayed_v_columns_);
    PackRightThenScale(state, kPanel, padded, total_, state_columns_);
    const Term past = {q_read_, state_columns_, depth}, own = {scores_, v_columns_, token_depth};
    if (scale_later_) {
      MultiplyPanel(nullptr, {past, {}}, tokens, padded, upcoming, parts, values_, kPanel);
      LoadPanel(values_, kPanel, tokens, tokens, kPanel, decay_, values_);
      MultiplyToOutput(values_, {{}, own}, rows, panel.columns, upcoming, parts, buffer_, o, width);
    } else {
      MultiplyToOutput(nullptr, {past, own}, rows, panel.columns, upcoming, parts, buffer_, o,
                       width);
    }
    const Operand& update = vector_ ? v_columns_ : decayed_v_columns_;
    MultiplyPanel(state, {{k_rows_, update, token_depth}, {}}, keys_, padded, upcoming, parts,
                  state, kPanel);
  }

 private:
  template <typename Factor>
  void PackQueries(const Segment& segment, const Factor& factor, const Operand& to) {
    for (int64_t t = 0; t < segment.rows; ++t) factors_[t] = factor(t);
    PackLeft(heads_.Q(args_, segment.first), args_.q_stride, segment.rows,
             RoundUp(segment.rows, kHalfTokens), args_.key_dim, factors_, to);
  }

  // P and the decays of one head under a scalar decay.
  void DecayScores(const Segment& segment, int64_t head) {
    const bool bonus = args_.bonus != nullptr;
    const int64_t tokens = RoundUp(segment.rows, kHalfTokens);
    alignas(64) float factors[kChunk] = {};
    const bool per_head = args_.decay == DecayKind::kScalarPerHead;
    for (int64_t t = 0; t < segment.rows; ++t) {
      factors[t] = args_.g[per_head ? head : (segment.first + t) * args_.heads + head];
    }
    for (int64_t t = 0; t < tokens; t += kLanes) {
      _mm512_store_ps(factors + t, DecayExp(_mm512_load_ps(factors + t)));
    }
    if (bonus) BonusScores(segment, args_.bonus + head * args_.key_dim);
    __m512 row[kChunk / kLanes] = {};  // exp(b_t - b_j)
    float product = 1;
    for (int64_t t = 0; t < tokens; ++t) {
      const __m512 factor = _mm512_set1_ps(factors[t]);
      const float before = product;
      product *= factors[t];
      decay_[t] = bonus ? before : product;
      for (int64_t d = 0; d <= t / kHalfTokens; ++d) {
        __m512 score[2];
        for (int64_t n = 0; n < 2; ++n) {
          const int64_t block = 2 * d + n;
          const __mmask16 own =
              t / kLanes == block ? static_cast<__mmask16>(1u << t % kLanes) : __mmask16{0};
          const __m512 qk = _mm512_load_ps(qk_ + t * kChunk + block * kLanes);
          const __m512 old = row[block];
          row[block] = _mm512_mask_mov_ps(_mm512_mul_ps(old, factor), own, _mm512_set1_ps(1));
          score[n] = _mm512_mul_ps(bonus ? old : row[block], qk);
          if (bonus) score[n] = _mm512_mask_mov_ps(score[n], own, _mm512_set1_ps(bonus_[t]));
        }
        StoreRow(score[0], score[1], scores_.At(t / kLanes, d) + t % kLanes * kBlockDepth);
      }
      if (t == segment.rows - 1) {
        for (int64_t n = 0; n < kChunk / kLanes; ++n) _mm512_store_ps(tail_ + n * kLanes, row[n]);
        std::fill_n(total_, keys_, product);
      }
    }
  }

  // bonus_: scale sum_k q u k of each token.
  void BonusScores(const Segment& segment, const float* bonus) {
    std::fill_n(bonus_, kChunk, 0.0f);
    for (int64_t t = 0; t < segment.rows; ++t) {
      const float* const q = heads_.Q(args_, segment.first + t);
      const float* const k = heads_.K(args_, segment.first + t);
      __m512 sum = _mm512_setzero_ps();
      for (int64_t c = 0; c < args_.key_dim; c += kLanes) {
        const int64_t left = args_.key_dim - c;
        sum = _mm512_fmadd_ps(_mm512_mul_ps(Load(q + c, left), Load(bonus + c, left)),
                              Load(k + c, left), sum);
      }
      bonus_[t] = scale_ * _mm512_reduce_add_ps(sum);
    }
  }

  // Queries, keys and scores of a segment under a vector decay.
  void PrepareVectorDecay(const Segment& segment) {
    const int64_t tokens = RoundUp(segment.rows, kHalfTokens);
    LoadRows(segment, tokens);
    for (int64_t d = 0; d < keys_ / kBlockDepth; ++d) {
      DecayQueries(tokens, d);
      DecayKeys(tokens, d);
    }
    const Term blocks = {{q_.At(0, 0), q_.depth}, {k_columns_.At(0, 0), q_.depth}, q_.depth};
    const Term halves = {{q_.At(2, 0), q_.depth}, {k_columns_.At(2, 0), q_.depth}, q_.depth};
    MultiplyBlock(nullptr, 0, &blocks, 1, 0, 0, buffer_, kPanel);
    for (int64_t half = 0; half < tokens / kHalfTokens; ++half) {
      const float* const from = buffer_ + half * (kBlockTokens * kPanel + kLanes);
      float* const to = qk_ + half * kHalfTokens * (kChunk + 1) + kBlockTokens * kChunk;
      for (int64_t r = 0; r < kBlockTokens; ++r) {
        _mm512_store_ps(to + r * kChunk, _mm512_load_ps(from + r * kPanel));
      }
    }
    if (tokens > kHalfTokens) {
      MultiplyBlock(nullptr, 0, &halves, 1, 0, 0, qk_ + kHalfTokens * kChunk, kChunk);
    }
    for (int64_t t = 0; t < tokens; t += kBlockTokens) {
      const auto score = args_.bonus == nullptr ? &ScoreBlock<false> : &ScoreBlock<true>;
      score(q_rows_ + t * keys_, decays_ + t * keys_, k_plain_ + t * keys_, keys_,
            qk_ + t * (kChunk + 1));
    }
  }

  // q_rows_ (times scale), k_plain_ and decays_, exp(g): rows of the segment, 0 and 1 beyond it.
  void LoadRows(const Segment& segment, int64_t tokens) {
    const __m512 scale = _mm512_set1_ps(scale_);
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = segment.first + t, width = t < segment.rows ? args_.key_dim : 0;
      const float* const q = heads_.Q(args_, row);
      const float* const k = heads_.K(args_, row);
      const float* const g = heads_.G(args_, row);
      for (int64_t c = 0; c < keys_; c += kLanes) {
        const int64_t at = t * keys_ + c;
        _mm512_store_ps(q_rows_ + at, _mm512_mul_ps(scale, Load(q + c, width - c)));
        _mm512_store_ps(k_plain_ + at, Load(k + c, width - c));
        _mm512_store_ps(decays_ + at, DecayExp(Load(g + c, width - c)));
      }
    }
  }

  // Channels 32 d .. 32 d + 31 of q with the decay from the start of its block (blocks 1 and 3: q_
  // 0, 1), half (q_ 2, 3) and segment (q_read_).
  void DecayQueries(int64_t tokens, int64_t d) {
    const __m512 one = _mm512_set1_ps(1);
    const bool bonus = args_.bonus != nullptr;
    const int64_t first = d * kBlockDepth;
    __m512 block[2], half[2], whole[2] = {one, one};
    for (int64_t t = 0; t < tokens; ++t) {
      __m512 q[2], by_block[2], by_half[2], by_whole[2];
#pragma GCC unroll 2
      for (int n = 0; n < 2; ++n) {
        if (t % kBlockTokens == 0) block[n] = one;
        if (t % kHalfTokens == 0) half[n] = one;
        const int64_t at = t * keys_ + first + n * kLanes;
        const __m512 decay = _mm512_load_ps(decays_ + at);
        q[n] = _mm512_load_ps(q_rows_ + at);
        const __m512 before[] = {block[n], half[n], whole[n]};
        block[n] = _mm512_mul_ps(block[n], decay);
        half[n] = _mm512_mul_ps(half[n], decay);
        whole[n] = _mm512_mul_ps(whole[n], decay);
        by_block[n] = _mm512_mul_ps(q[n], bonus ? before[0] : block[n]);
        by_half[n] = _mm512_mul_ps(q[n], bonus ? before[1] : half[n]);
        by_whole[n] = _mm512_mul_ps(q[n], bonus ? before[2] : whole[n]);
      }
      const int64_t in_block = t % kBlockTokens * kBlockDepth;
      StoreRow(by_whole[0], by_whole[1], q_read_.At(t / kBlockTokens, d) + in_block);
      if (t / kBlockTokens % 2 == 1) {
        StoreRow(by_block[0], by_block[1], q_.At(t / kHalfTokens, d) + in_block);
      }
      if (t >= kHalfTokens) {
        StoreRow(by_half[0], by_half[1], q_.At(t / kBlockTokens, d) + in_block);
      }
    }
    for (int n = 0; n < 2; ++n) _mm512_store_ps(total_ + first + n * kLanes, whole[n]);
  }

  // The same channels of k with the decay to the end of its block (blocks 0 and 2: k_columns_ 0,
  // 1), half (the first: k_columns_ 2, 3) and segment (k_rows_).
  void DecayKeys(int64_t tokens, int64_t d) {
    using Tile = __m512[kLanes];
    const __m512 one = _mm512_set1_ps(1);
    const int64_t first = d * kBlockDepth;
    __m512 half[2] = {one, one}, whole[2] = {one, one};
    Tile later[2];  // the half's second block, transposed
    for (int64_t b = tokens / kBlockTokens - 1; b >= 0; --b) {
      Tile by_block[2], by_half[2], by_whole[2];
      for (int n = 0; n < 2; ++n) {
        __m512 block = one;
        if (b % 2 == 1) half[n] = one;
        for (int64_t r = kBlockTokens - 1; r >= 0; --r) {
          const int64_t at = (b * kBlockTokens + r) * keys_ + first + n * kLanes;
          const __m512 key = _mm512_load_ps(k_plain_ + at), decay = _mm512_load_ps(decays_ + at);
          by_block[n][r] = _mm512_mul_ps(key, block);
          by_half[n][r] = _mm512_mul_ps(key, half[n]);
          by_whole[n][r] = _mm512_mul_ps(key, whole[n]);
          block = _mm512_mul_ps(block, decay);
          half[n] = _mm512_mul_ps(half[n], decay);
          whole[n] = _mm512_mul_ps(whole[n], decay);
        }
        TransposeTile(by_whole[n]);
        if (b % 2 == 1) {
          std::copy_n(by_whole[n], kLanes, later[n]);
          continue;
        }
        uint16_t* const to = k_rows_.At(2 * d + n, b / 2);
        for (int64_t i = 0; i < kLanes; ++i) {
          StoreRow(by_whole[n][i], later[n][i], to + i * kBlockDepth);
        }
      }
      if (b % 2 == 0) PackColumns(by_block, k_columns_.At(b / 2, d));
      if (b < 2) PackColumns(by_half, k_columns_.At(2 + b, d));
    }
  }

  // Tiles [token][channel] of two times 16 channels.
  static void PackColumns(__m512 (*tiles)[kLanes], uint16_t* to) {
    TransposeTile(tiles[0]);
    TransposeTile(tiles[1]);
    for (int64_t i = 0; i < kLanes; ++i) {
      StoreRow(tiles[0][i], tiles[1][i], to + i * kBlockDepth);
    }
  }

  const LinearAttentionArgs& args_;
  bool vector_;       // decay
  bool scale_later_;  // the state's read, not the queries, takes a scalar decay: fewer products
  float scale_;
  LinearKeys heads_;
  int64_t keys_;                           // K, rounded up
  Operand q_, k_columns_;                  // of the scores
  Operand q_read_, k_rows_;                // of the state's read and update
  Operand scores_, state_columns_;         // P, S0
  Operand v_columns_, decayed_v_columns_;  // v; v times the decay to the end (scalar)
  float *qk_, *decayed_;                   // [64, 64]: scores of the group, P of a head
  float *values_, *buffer_;                // panels of 64 rows
  float *ones_, *factors_;                 // [max(keys, 64)]
  float* total_;                           // [keys] decay of the whole segment
  float *q_rows_, *k_plain_, *decays_;     // [64, keys]
  float* states_;                          // a panel of `keys` rows for each panel
  float decay_[kChunk] = {};               // scalar decay from the start to what token t reads
  float bonus_[kChunk] = {};               // scale q.(u k)
  alignas(64) float tail_[kChunk] = {};    // scalar decay from token j to the end
};

}  // namespace

void RunLinearTilesItem(const LinearAttentionArgs& args, const MixerItem& item) {
  const AmxTiles tiles;
  LinearTiles work(args, item);
  const ChunkedSequence sequence = LinearSequence(args, item.sequence);
  ChunkedRun(item, sequence, work).Run();
}

}  // namespace natsl::kernels
NATSL_AMX_END

#else

#include "core/error.h"

namespace natsl::kernels {

void RunLinearTilesItem(const LinearAttentionArgs&, const MixerItem&) {
  throw InternalError("linear attention in tiles: compiled without them");
}

}  // namespace natsl::kernels

#endif  // NATSL_AMX
