// Panels of 64 columns for the chunked mixers in AMX tiles: [rows, 64] floats, 64-byte aligned.
#pragma once

#include <cstring>

#include "kernels/cpu/amx_fixed_point.h"
#include "kernels/cpu/mixer_chunks.h"
#include "kernels/cpu/mixer_scratch.h"

#if NATSL_AMX
NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int64_t kChunk = kPageTokens;
constexpr int64_t kPanel = 64;
constexpr int64_t kPanelBlocks = kPanel / kLanes, kChunkBlocks = kChunk / kBlockRows;
static_assert(kChunk == kBlockDepth, "a chunk's tokens are one block deep");

inline Operand TakeOperand(Scratch& scratch, int64_t row_blocks, int64_t depth) {
  return {reinterpret_cast<int8_t*>(scratch.Take(row_blocks * depth * kBlock / 4)), depth};
}

/// The largest Size of each column of a panel, so far as it was seen.
struct alignas(64) PanelSizes {
  __m512i blocks[kPanelBlocks];

  void Clear() { std::fill_n(blocks, kPanelBlocks, _mm512_setzero_si512()); }
};

/// panel [padded_rows, 64] = `columns` columns of each row, whose sizes are seen; the rest is zero.
inline void LoadPanel(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                      int64_t columns, float* panel, PanelSizes& sizes) {
  for (int64_t c = 0; c < kPanel; c += kLanes) {
    __m512i largest = _mm512_setzero_si512();
    for (int64_t r = 0; r < padded_rows; ++r) {
      const __m512 x = Load(from + r * stride + c, r < rows ? columns - c : 0);
      largest = _mm512_max_epi32(largest, Size(x));
      _mm512_store_ps(panel + r * kPanel + c, x);
    }
    sizes.blocks[c / kLanes] = largest;
  }
}

/// to = `rows` rows of a panel, row r times factors[r], whose sizes are seen.
inline void ScalePanel(const float* panel, int64_t rows, const float* factors, float* to,
                       PanelSizes& sizes) {
  for (int64_t c = 0; c < kPanel; c += kLanes) {
    LargestSize largest(_mm512_setzero_si512());
    for (int64_t r = 0; r < rows; ++r) {
      const __m512 x =
          _mm512_mul_ps(_mm512_load_ps(panel + r * kPanel + c), _mm512_set1_ps(factors[r]));
      largest.See(x);
      _mm512_store_ps(to + r * kPanel + c, x);
    }
    sizes.blocks[c / kLanes] = largest.Get();
  }
}

inline void StorePanel(const float* panel, int64_t rows, int64_t columns, float* to,
                       int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * stride, panel + r * kPanel, static_cast<size_t>(columns) * sizeof(float));
  }
}

/// The keys of a segment as integers, and the operands made of them. Token t's keys have the unit
/// units[t]: a column's in `columns`; in rows_of_channels (the transpose, 64 tokens deep) it is the
/// depth's, which the right operand must bring.
struct Keys {
  Operand columns, rows_of_channels;
  int32_t *integers, *transposed;  // [64, padded], [padded, 64]
  float* units;                    // [64]

  void Take(Scratch& scratch, int64_t padded_width) {
    const int64_t depth = padded_width / kBlockDepth;
    columns = TakeOperand(scratch, kChunkBlocks, depth);
    rows_of_channels = TakeOperand(scratch, padded_width / kBlockRows, 1);
    for (int32_t** matrix : {&integers, &transposed}) {
      *matrix = reinterpret_cast<int32_t*>(scratch.Take(kChunk * padded_width));
    }
    units = scratch.Take(kChunk);
  }

  /// `rows` keys of `width` floats.
  void Load(const float* from, int64_t stride, int64_t rows, int64_t width, int64_t padded_width) {
    LoadColumns(from, stride, rows, kChunk, width, padded_width);
    IntegersToLeft(transposed, kChunk, padded_width, rows_of_channels);
  }

  /// The columns alone, for `padded_rows` tokens, a multiple of 16.
  void LoadColumns(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                   int64_t width, int64_t padded_width) {
    ToIntegers(from, stride, rows, padded_rows, width, padded_width, integers, units);
    // A transpose moves bytes, whatever they stand for.
    Transpose(reinterpret_cast<const float*>(integers), padded_width, padded_rows, padded_rows,
              padded_width, padded_width, reinterpret_cast<float*>(transposed), kChunk);
    IntegersToRight(transposed, kChunk, padded_rows, columns);
  }
};

/// Right operand from a panel whose sizes are known, with as many rows as the operand is deep;
/// units[c] becomes column c's unit.
inline void PackPanel(const float* panel, int64_t columns, const PanelSizes& sizes,
                      const Operand& to, float* units) {
  for (int64_t j = 0; j < columns / kLanes; ++j) {
    __m512 column_units, scales;
    UnitsOf(sizes.blocks[j], &column_units, &scales);
    _mm512_store_ps(units + j * kLanes, column_units);
    for (int64_t d = 0; d < to.depth; ++d) {
      const float* const from = panel + d * kBlockDepth * kPanel + j * kLanes;
      for (int64_t r = 0; r < kBlockRows; ++r) {
        const auto biased = [&](int64_t n) __attribute__((always_inline)) {
          return Biased(_mm512_load_ps(from + (r + n * kBlockRows) * kPanel), scales);
        };
        StoreDigits(biased(0), biased(1), biased(2), biased(3), to.At(j, d) + r * kBlockDepth);
      }
    }
  }
}

/// Calls finish(r, c, x) with row r, columns c..c+15 of left times right, without the rows' units,
/// for `rows` rows and `columns` columns (multiples of 16). A lambda that captures copies of
/// pointers needs no loads of them after each store.
template <typename Finish>
__attribute__((always_inline)) inline void Multiply(const Operand& left, const Operand& right,
                                                    const float* column_units, int64_t rows,
                                                    int64_t columns, const Finish& finish) {
  const Combine combine;
  Sums sums;
  for (int64_t c = 0; c < columns; c += kLanes) {
    const __m512 units = _mm512_mul_ps(_mm512_load_ps(column_units + c), _mm512_set1_ps(kSumUnit));
    for (int64_t i = 0; i < rows; i += kBlockRows) {
      MultiplyBlock(left, right, i / kBlockRows, c / kLanes, sums);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kBlockRows; ++r) {
        finish(i + r, c, _mm512_mul_ps(combine(sums, r), units));
      }
    }
  }
}

/// The same into a panel: finish returns what was stored there, which `sizes` sees.
template <typename Finish>
__attribute__((always_inline)) inline void MultiplyPanel(const Operand& left, const Operand& right,
                                                         const float* column_units, int64_t rows,
                                                         int64_t columns, PanelSizes& sizes,
                                                         const Finish& finish) {
  const Combine combine;
  Sums sums;
  sizes.Clear();
  for (int64_t c = 0; c < columns; c += kLanes) {
    const __m512 units = _mm512_mul_ps(_mm512_load_ps(column_units + c), _mm512_set1_ps(kSumUnit));
    LargestSize largest(_mm512_setzero_si512());
    for (int64_t i = 0; i < rows; i += kBlockRows) {
      MultiplyBlock(left, right, i / kBlockRows, c / kLanes, sums);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kBlockRows; ++r) {
        largest.See(finish(i + r, c, _mm512_mul_ps(combine(sums, r), units)));
      }
    }
    sizes.blocks[c / kLanes] = largest.Get();
  }
}

/// scores [64, 64] = left right^T for the first `rows` tokens: the blocks of 16 by 16 on and below
/// the diagonal. Row r of `left` has the unit row_units[r], column c of `right` column_units[c].
inline void MultiplyScores(const Operand& left, const float* row_units, const Operand& right,
                           const float* column_units, int64_t rows, float* scores) {
  const Combine combine;
  Sums sums;
  for (int64_t c = 0; c < rows; c += kLanes) {
    const __m512 units = _mm512_mul_ps(_mm512_load_ps(column_units + c), _mm512_set1_ps(kSumUnit));
    for (int64_t i = c; i < rows; i += kBlockRows) {
      MultiplyBlock(left, right, i / kBlockRows, c / kLanes, sums);
      for (int64_t r = 0; r < kBlockRows; ++r) {
        const __m512 x = _mm512_mul_ps(combine(sums, r), _mm512_set1_ps(row_units[i + r]));
        _mm512_store_ps(scores + (i + r) * kChunk + c, _mm512_mul_ps(x, units));
      }
    }
  }
}

/// What a segment's tokens read: of the state before it, and of its own tokens. Units are those of
/// rows (queries, scores; with what else multiplies the row) and of columns (state, values).
struct OutputTerms {
  Operand queries, state, scores, values;
  const float *query_units, *state_units, *scores_units, *values_units;
};

/// o [rows, columns] (rows `width` apart) = queries state + scores values, the latter if kOwn.
template <bool kOwn>
void WriteOutput(const OutputTerms& terms, int64_t rows, int64_t columns, Upcoming& upcoming,
                 float* o, int64_t width) {
  const int64_t parts =
      RoundUp(rows, kBlockRows) * RoundUp(columns, kLanes) / (kBlockRows * kLanes);
  const Combine combine;
  Sums past, own;
  for (int64_t c = 0; c < columns; c += kLanes) {
    const __m512 unit = _mm512_set1_ps(kSumUnit);
    const __m512 past_unit = _mm512_mul_ps(_mm512_load_ps(terms.state_units + c), unit);
    const __m512 own_unit = _mm512_mul_ps(_mm512_load_ps(terms.values_units + c), unit);
    const int64_t left = columns - c;
    const __mmask16 mask =
        left >= kLanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1u << left) - 1);
    for (int64_t i = 0; i < rows; i += kBlockRows) {
      MultiplyBlock(terms.queries, terms.state, i / kBlockRows, c / kLanes, past);
      if constexpr (kOwn) {
        MultiplyBlock(terms.scores, terms.values, i / kBlockRows, c / kLanes, own);
      }
      upcoming.Touch(parts);
      const int64_t count = std::min(kBlockRows, rows - i);
      const float *const query_units = terms.query_units + i, *const scores_units =
                                                                  terms.scores_units + i;
      float* const to = o + i * width + c;
      for (int64_t r = 0; r < count; ++r) {
        __m512 x = _mm512_mul_ps(_mm512_mul_ps(combine(past, r), past_unit),
                                 _mm512_set1_ps(query_units[r]));
        if constexpr (kOwn) {
          x = _mm512_fmadd_ps(_mm512_mul_ps(combine(own, r), own_unit),
                              _mm512_set1_ps(scores_units[r]), x);
        }
        _mm512_mask_storeu_ps(to + r * width, mask, x);
      }
    }
  }
}

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
