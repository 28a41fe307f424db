// Chunked linear attention in AMX tiles. The equations are those of linear_attention_cpu.cpp. Under
// a vector decay the scores of a segment come from three levels, so that every factor is a product
// of exp(g) <= 1: the second 32 tokens against the first (queries carry the decay from their half's
// start, keys the decay to their half's end), inside 32 the second 16 against the first likewise,
// and inside 16 token by token.
#include "kernels/cpu/amx_panel.h"
#include "kernels/cpu/linear_attention_chunks.h"
#include "kernels/cpu/mixer_chunked.h"

#if NATSL_AMX
#include <type_traits>

NATSL_AMX_BEGIN
namespace natsl::kernels {
namespace {

using namespace amx;

constexpr int64_t kBlockTokens = 16;
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
        scale_(static_cast<float>(args.scale)),
        heads_(args, 0),
        width_(RoundUp(args.key_dim, kBlockDepth)) {
    const int64_t depth = width_ / kBlockDepth;
    Scratch::Fill([&](Scratch& scratch) {
      keys_.Take(scratch, width_);
      q_ = TakeOperand(scratch, kChunkBlocks, depth);
      scores_ = TakeOperand(scratch, kChunkBlocks, 1);
      state_ = TakeOperand(scratch, kPanelBlocks, depth);
      for (Operand* tokens : {&values_, &decayed_values_}) {
        *tokens = TakeOperand(scratch, kPanelBlocks, 1);
      }
      for (float** square : {&qk_, &decayed_qk_}) *square = scratch.Take(kSquare);
      for (float** row :
           {&q_units_, &q_read_, &scores_units_, &state_units_, &values_units_, &decayed_units_}) {
        *row = scratch.Take(kChunk);
      }
      for (float** channels : {&total_, &channel_units_}) *channels = scratch.Take(width_);
      if (vector_) {
        q_levels_ = TakeOperand(scratch, kChunkBlocks, depth);
        for (float** rows : {&q_rows_, &k_rows_, &decays_, &to_start_, &to_end_}) {
          *rows = scratch.Take(kChunk * width_);
        }
      }
      panel_ = scratch.Take(kChunk * kPanel);
      states_ = scratch.Take((width_ * kPanel + kPanel) * (item.end - item.begin));
    });
    std::fill_n(qk_, kSquare, 0.0f);
    std::fill_n(decayed_qk_, kSquare, 0.0f);  // above the diagonal both stay so
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
    return LinearRows(args_, first, last, first_group, last_group);
  }

  void PrepareKeys(const Segment& segment, int64_t group) {
    heads_ = LinearKeys(args_, group);
    if (vector_) {
      PrepareVectorDecay(segment);
      return;
    }
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kBlockRows);
    keys_.Load(heads_.K(args_, segment.first), args_.k_stride, rows, args_.key_dim, width_);
    PackLeft(heads_.Q(args_, segment.first), args_.q_stride, rows, tokens, args_.key_dim, q_,
             q_units_);
    for (int64_t t = 0; t < tokens; ++t) q_units_[t] *= scale_;
    MultiplyScores(q_, q_units_, keys_.columns, keys_.units, tokens, qk_);
    std::fill_n(channel_units_, width_, 1.0f);
  }

  void PrepareHead(const Segment& segment, int64_t head) {
    const int64_t tokens = RoundUp(segment.rows, kBlockRows);
    if (args_.bonus != nullptr) BonusScores(segment, args_.bonus + head * args_.key_dim);
    if (!vector_) {
      DecayScores(segment, head);
      PackLeft(decayed_qk_, kChunk, tokens, tokens, kChunk, scores_, scores_units_);
      return;
    }
    for (int64_t t = 0; t < segment.rows && args_.bonus != nullptr; ++t) {
      qk_[t * (kChunk + 1)] = bonus_[t];
    }
    PackLeft(qk_, kChunk, tokens, tokens, kChunk, scores_, scores_units_);
  }

  // `state` is S0 and becomes S.
  void RunPanel(const Segment& segment, const Panel& panel, Upcoming& upcoming, float* state) {
    const int64_t rows = segment.rows, tokens = RoundUp(rows, kBlockRows);
    const int64_t columns = panel.columns, padded = RoundUp(columns, kLanes);
    const int64_t width = args_.heads * args_.value_dim;
    const float* const v = LinearValues(args_, panel) + segment.first * args_.v_stride;
    float* const o = LinearOutputs(args_, panel) + segment.first * width;
    PanelSizes sizes, decayed_sizes;
    LoadPanel(v, args_.v_stride, rows, kChunk, columns, panel_, sizes);
    const OutputTerms terms = {q_,      state_,       scores_,       values_,
                               q_read_, state_units_, scores_units_, values_units_};
    PackPanel(state, padded, SizesOf(state), state_, state_units_);
    PackPanel(panel_, padded, sizes, values_, values_units_);
    WriteOutput<true>(terms, rows, columns, upcoming, o, width);
    // Copies, which the compiler knows no store changes.
    const float *const total = total_, *const channel_units = channel_units_;
    const auto update = [=](int64_t i, int64_t c, __m512 x) __attribute__((always_inline)) {
      float* const cell = state + i * kPanel + c;
      const __m512 old = _mm512_mul_ps(_mm512_load_ps(cell), _mm512_set1_ps(total[i]));
      x = _mm512_fmadd_ps(x, _mm512_set1_ps(channel_units[i]), old);
      _mm512_store_ps(cell, x);
      return x;
    };
    if (vector_) {
      MultiplyPanel(keys_.rows_of_channels, values_, values_units_, width_, padded, SizesOf(state),
                    update);
      return;
    }
    ScalePanel(panel_, tokens, tail_, panel_, decayed_sizes);
    PackPanel(panel_, padded, decayed_sizes, decayed_values_, decayed_units_);
    MultiplyPanel(keys_.rows_of_channels, decayed_values_, decayed_units_, width_, padded,
                  SizesOf(state), update);
  }

 private:
  // The sizes of a panel of states lie behind it.
  PanelSizes& SizesOf(float* state) const {
    return *reinterpret_cast<PanelSizes*>(state + width_ * kPanel);
  }

  // P and the decays of one head under a scalar decay.
  void DecayScores(const Segment& segment, int64_t head) {
    const bool bonus = args_.bonus != nullptr;
    const int64_t tokens = RoundUp(segment.rows, kBlockRows);
    alignas(64) float factors[kChunk] = {};
    const bool per_head = args_.decay == DecayKind::kScalarPerHead;
    for (int64_t t = 0; t < segment.rows; ++t) {
      factors[t] = args_.g[per_head ? head : (segment.first + t) * args_.heads + head];
    }
    for (int64_t t = 0; t < tokens; t += kLanes) {
      _mm512_store_ps(factors + t, DecayExp(_mm512_load_ps(factors + t)));
    }
    __m512 row[kChunk / kLanes] = {};  // exp(b_t - b_j)
    float product = 1;
    for (int64_t t = 0; t < tokens; ++t) {
      const __m512 factor = _mm512_set1_ps(factors[t]);
      q_read_[t] = q_units_[t] * (bonus ? product : product * factors[t]);
      product *= factors[t];
      for (int64_t block = 0; block <= t / kLanes; ++block) {
        const __mmask16 own =
            t / kLanes == block ? static_cast<__mmask16>(1u << t % kLanes) : __mmask16{0};
        const __m512 qk = _mm512_load_ps(qk_ + t * kChunk + block * kLanes);
        const __m512 old = row[block];
        row[block] = _mm512_mask_mov_ps(_mm512_mul_ps(old, factor), own, _mm512_set1_ps(1));
        __m512 score = _mm512_mul_ps(bonus ? old : row[block], qk);
        if (bonus) score = _mm512_mask_mov_ps(score, own, _mm512_set1_ps(bonus_[t]));
        _mm512_store_ps(decayed_qk_ + t * kChunk + block * kLanes, score);
      }
      if (t == segment.rows - 1) {
        for (int64_t n = 0; n < kChunk / kLanes; ++n) {
          _mm512_store_ps(tail_ + n * kLanes,
                          _mm512_mul_ps(row[n], _mm512_load_ps(keys_.units + n * kLanes)));
        }
        std::fill_n(total_, width_, product);
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
    const int64_t tokens = RoundUp(segment.rows, kBlockRows);
    LoadRows(segment, tokens);
    const auto score = args_.bonus == nullptr ? &ScoreBlock<false> : &ScoreBlock<true>;
    for (int64_t t = 0; t < tokens; t += kBlockRows) {
      score(q_rows_ + t * width_, decays_ + t * width_, k_rows_ + t * width_, width_,
            qk_ + t * (kChunk + 1));
    }
    // Levels of spans of 32 and 64 tokens: the second half against the first.
    for (int64_t span = 2 * kBlockRows; span < kChunk + kBlockRows; span *= 2) {
      const int64_t half = span / 2;
      for (int64_t start = 0; start + half < tokens; start += span) {
        ScoreHalves(start, half, std::min(half, tokens - start - half));
      }
    }
    DecayQueries(0, tokens);
    PackLeft(to_start_, width_, tokens, tokens, width_, q_, q_units_);
    std::copy_n(q_units_, tokens, q_read_);
    DecayKeys(0, tokens, total_);
    float* const transposed = to_start_;
    Transpose(to_end_, width_, tokens, kChunk, width_, width_, transposed, kChunk);
    PackLeft(transposed, kChunk, width_, width_, kChunk, keys_.rows_of_channels, channel_units_);
  }

  // q_rows_ (times scale), k_rows_ and decays_, exp(g): rows of the segment, 0, 0 and 1 beyond it.
  void LoadRows(const Segment& segment, int64_t tokens) {
    const __m512 scale = _mm512_set1_ps(scale_);
    for (int64_t t = 0; t < tokens; ++t) {
      const int64_t row = segment.first + t, width = t < segment.rows ? args_.key_dim : 0;
      const float* const q = heads_.Q(args_, row);
      const float* const k = heads_.K(args_, row);
      const float* const g = heads_.G(args_, row);
      for (int64_t c = 0; c < width_; c += kLanes) {
        const int64_t at = t * width_ + c;
        _mm512_store_ps(q_rows_ + at, _mm512_mul_ps(scale, Load(q + c, width - c)));
        _mm512_store_ps(k_rows_ + at, Load(k + c, width - c));
        _mm512_store_ps(decays_ + at, DecayExp(Load(g + c, width - c)));
      }
    }
  }

  // Scores of tokens start + half .. start + half + later with tokens start .. start + half - 1.
  void ScoreHalves(int64_t start, int64_t half, int64_t later) {
    DecayQueries(start + half, later);
    DecayKeys(start, half, nullptr);
    PackLeft(to_start_ + (start + half) * width_, width_, later, later, width_, q_levels_,
             q_units_);
    keys_.LoadColumns(to_end_ + start * width_, width_, half, half, width_, width_);
    const float* const q_units = q_units_;
    float* const scores = qk_ + (start + half) * kChunk + start;
    Multiply(
        q_levels_, keys_.columns, keys_.units, later,
        half, [=](int64_t i, int64_t c, __m512 x) __attribute__((always_inline)) {
          _mm512_store_ps(scores + i * kChunk + c, _mm512_mul_ps(x, _mm512_set1_ps(q_units[i])));
        });
  }

  // Rows [first, first + count) of to_start_: q with the decay from row `first` to what the token
  // reads.
  void DecayQueries(int64_t first, int64_t count) {
    const bool bonus = args_.bonus != nullptr;
    for (int64_t c = 0; c < width_; c += kLanes) {
      __m512 product = _mm512_set1_ps(1);
      for (int64_t t = first; t < first + count; ++t) {
        const int64_t at = t * width_ + c;
        const __m512 before = product;
        product = _mm512_mul_ps(product, _mm512_load_ps(decays_ + at));
        _mm512_store_ps(to_start_ + at,
                        _mm512_mul_ps(_mm512_load_ps(q_rows_ + at), bonus ? before : product));
      }
    }
  }

  // Rows [first, first + count) of to_end_: k with the decay after its token to the last row;
  // `total`, if any, becomes that of all rows.
  void DecayKeys(int64_t first, int64_t count, float* total) {
    for (int64_t c = 0; c < width_; c += kLanes) {
      __m512 product = _mm512_set1_ps(1);
      for (int64_t t = first + count - 1; t >= first; --t) {
        const int64_t at = t * width_ + c;
        _mm512_store_ps(to_end_ + at, _mm512_mul_ps(_mm512_load_ps(k_rows_ + at), product));
        product = _mm512_mul_ps(product, _mm512_load_ps(decays_ + at));
      }
      if (total != nullptr) _mm512_store_ps(total + c, product);
    }
  }

  const LinearAttentionArgs& args_;
  bool vector_;  // decay
  float scale_;
  LinearKeys heads_;
  int64_t width_;  // K, rounded up
  Keys keys_;
  Operand q_, q_levels_;             // of the state's read (with a scalar decay the scores too)
  Operand scores_, state_;           // P, S0
  Operand values_, decayed_values_;  // v; v times the decay to the end and the keys' units (scalar)
  float *qk_, *decayed_qk_;          // [64, 64]: scores of the group, P of a head (scalar)
  float *q_units_, *q_read_, *scores_units_;             // of tokens
  float *state_units_, *values_units_, *decayed_units_;  // of columns
  float *total_, *channel_units_;      // [width]: decay of the whole segment, units of k's channels
  float *q_rows_, *k_rows_, *decays_;  // [64, width]
  float *to_start_, *to_end_;          // [64, width]: q and k with decays
  float* panel_;                       // a panel of 64 rows: v
  float* states_;                      // a panel of `width_` rows for each panel, and its sizes
  float bonus_[kChunk] = {};           // scale q.(u k)
  alignas(64) float tail_[kChunk] = {};  // scalar decay from token j to the end, times its unit
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
