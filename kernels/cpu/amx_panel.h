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

/// scores [64, 64] = left right^T for the first `rows` tokens: the blocks of 16 by 16 on and below
/// the diagonal. Row r of `left` has the unit row_units[r], column c of `right` column_units[c].
inline void MultiplyScores(const Operand& left, const float* row_units, const Operand& right,
                           const float* column_units, int64_t rows, float* scores) {
  Sums sums;
  const Combine combine;
  for (int64_t j = 0; j < rows; j += kLanes) {
    const __m512 units = _mm512_mul_ps(_mm512_load_ps(column_units + j), _mm512_set1_ps(kSumUnit));
    for (int64_t i = j; i < rows; i += kBlockRows) {
      MultiplyBlock(left, right, i / kBlockRows, j / kLanes, sums, [](int) {});
      for (int64_t r = 0; r < kBlockRows; ++r) {
        const __m512 x = _mm512_mul_ps(combine(sums, r), _mm512_set1_ps(row_units[i + r]));
        _mm512_store_ps(scores + (i + r) * kChunk + j, _mm512_mul_ps(x, units));
      }
    }
  }
}

/// Fills a block column of a right operand from 16 columns of a panel whose sizes are known, a row
/// of tiles at a time. The panel has as many rows as the operand is deep.
class ColumnPacker {
 public:
  ColumnPacker() = default;

  /// Column block j of `panel`; units[16 j ..] become the columns' units.
  ColumnPacker(const float* panel, const PanelSizes& sizes, int64_t j, const Operand& to,
               float* units)
      : from_(panel + j * kLanes), to_(to.At(j, 0)), rows_(to.depth * kBlockRows) {
    __m512 column_units;
    UnitsOf(sizes.blocks[j], &column_units, &scales_);
    _mm512_store_ps(units + j * kLanes, column_units);
  }

  /// Rows of tiles to be filled.
  int64_t rows() const { return rows_; }

  __attribute__((always_inline)) void Row(int64_t n) const {
    const uint64_t block = static_cast<uint64_t>(n) / kBlockRows;
    const uint64_t row = static_cast<uint64_t>(n) % kBlockRows;
    const float* const from = from_ + (block * kBlockDepth + row) * kPanel;
    const auto biased = [&](int64_t k) __attribute__((always_inline)) {
      return Biased(_mm512_load_ps(from + k * kBlockRows * kPanel), scales_);
    };
    StoreDigits(biased(0), biased(1), biased(2), biased(3),
                to_ + block * kBlock + row * kBlockDepth);
  }

 private:
  __m512 scales_ = _mm512_setzero_ps();
  const float* from_ = nullptr;
  int8_t* to_ = nullptr;
  int64_t rows_ = 0;
};

/// What fills the next column of the right operands of a product: up to two packers.
struct Packers {
  ColumnPacker first, second;

  int64_t rows() const { return first.rows() + second.rows(); }
  __attribute__((always_inline)) void Row(int64_t n) const {
    const bool in_first = n < first.rows();
    (in_first ? first : second).Row(in_first ? n : n - first.rows());
  }
};

/// Right operand from a panel.
inline void PackPanel(const float* panel, int64_t columns, const PanelSizes& sizes,
                      const Operand& to, float* units) {
  for (int64_t j = 0; j < columns / kLanes; ++j) {
    const ColumnPacker packer(panel, sizes, j, to, units);
    for (int64_t n = 0; n < packer.rows(); ++n) packer.Row(n);
  }
}

/// For blocks of 16 rows and columns of left times right, `rows` and `columns` in all (multiples of
/// 16), column blocks outermost: multiply(i, j, sums, between), then finish(i, j, sums), which
/// returns what is called with rows 0 to 15. Column block j of the right operands is filled by
/// prepare(j), Packers. Between the products of a block the vectors finish the second last block
/// and fill the next column, so that they and the tiles work side by side. (The code of a block
/// should stay below the 4096 operations that the processor keeps decoded.)
template <typename BlockSums, int kSlotsOfBlock, typename Prepare, typename Multiply,
          typename Finish>
__attribute__((always_inline)) inline void ForBlocks(int64_t rows, int64_t columns,
                                                     const Prepare& prepare,
                                                     const Multiply& multiply,
                                                     const Finish& finish) {
  constexpr int64_t kAhead = 2;
  constexpr int64_t kRowsOfSlot = (kBlockRows + kSlotsOfBlock - 1) / kSlotsOfBlock;
  static_assert(kRowsOfSlot == 2 || kRowsOfSlot == 3);
  constexpr int kPackingSlots = 2;
  BlockSums sums[kAhead + 1];
  const int64_t row_blocks = rows / kBlockRows, column_blocks = columns / kLanes;
  const int64_t blocks = row_blocks * column_blocks;
  Packers packers = prepare(0);
  int64_t packed = 0, to_pack = packers.rows();
  const int64_t slots = std::max<int64_t>(1, (row_blocks - 1) * kPackingSlots);  // of a column
  const int64_t share = (to_pack + slots - 1) / slots;
  int64_t i = 0, j = 0, at = 0;                 // of the block multiplied; n % (kAhead + 1)
  int64_t done_i = 0, done_j = 0, done_at = 0;  // of the block finished
  const auto advance = [row_blocks](int64_t& i, int64_t& j, int64_t& at) {
    at = at == kAhead ? 0 : at + 1;
    if (++i == row_blocks) {
      i = 0;
      ++j;
    }
  };
  for (int64_t n = 0; n < blocks; ++n) {
    if (i == 0) {
      for (; packed < to_pack; ++packed) packers.Row(packed);
      packed = to_pack = 0;
      if (j + 1 < column_blocks) {
        packers = prepare(j + 1);
        to_pack = packers.rows();
      }
    }
    if (n < kAhead) {
      multiply(i, j, sums[at], [](int) {});
    } else {
      auto row = finish(done_i, done_j, sums[done_at]);
      multiply(
          i, j, sums[at], [&](int slot) __attribute__((always_inline)) {
            if (slot * kRowsOfSlot < kBlockRows) row(slot * kRowsOfSlot);
            if (slot * kRowsOfSlot + 1 < kBlockRows) row(slot * kRowsOfSlot + 1);
            if constexpr (kRowsOfSlot == 3) {
              if (slot * kRowsOfSlot + 2 < kBlockRows) row(slot * kRowsOfSlot + 2);
            }
            if (slot % (kSlotsOfBlock / kPackingSlots) == 1) {
              for (const int64_t end = std::min(to_pack, packed + share); packed < end; ++packed) {
                packers.Row(packed);
              }
            }
          });
      advance(done_i, done_j, done_at);
    }
    advance(i, j, at);
  }
  for (; done_j < column_blocks; advance(done_i, done_j, done_at)) {
    auto row = finish(done_i, done_j, sums[done_at]);
    for (int64_t r = 0; r < kBlockRows; ++r) row(r);
  }
}

/// Calls finish(r, c, x) with row r, columns c..c+15 of left times right, without the rows' units.
/// (Lambdas that capture copies of pointers need no loads of them after each store.)
template <typename Finish>
__attribute__((always_inline)) inline void MultiplyBlocks(const Operand& left, const Operand& right,
                                                          const float* column_units, int64_t rows,
                                                          int64_t columns, const Finish& finish) {
  const Combine combine;
  ForBlocks<Sums, kSlots>(
      rows, columns, [](int64_t) { return Packers(); },
      [&](int64_t i, int64_t j, Sums & sums, const auto& between)
          __attribute__((always_inline)) { MultiplyBlock(left, right, i, j, sums, between); },
      [&](int64_t i, int64_t j, const Sums& sums) __attribute__((always_inline)) {
        const __m512 units =
            _mm512_mul_ps(_mm512_load_ps(column_units + j * kLanes), _mm512_set1_ps(kSumUnit));
        return [ finish, combine, units, i, j, by = &sums ](int64_t r)
            __attribute__((always_inline)) {
          finish(i * kBlockRows + r, j * kLanes, _mm512_mul_ps(combine(*by, r), units));
        };
      });
}

/// The same into a panel: finish returns what was stored there, which `sizes` sees. prepare(j)
/// fills column block j of the right operand.
template <typename Prepare, typename Finish>
__attribute__((always_inline)) inline void MultiplyPanel(const Operand& left, const Operand& right,
                                                         const float* column_units, int64_t rows,
                                                         int64_t columns, PanelSizes& sizes,
                                                         const Prepare& prepare,
                                                         const Finish& finish) {
  sizes.Clear();
  const Combine combine;
  ForBlocks<Sums, kSlots>(
      rows, columns, prepare,
      [&](int64_t i, int64_t j, Sums & sums, const auto& between)
          __attribute__((always_inline)) { MultiplyBlock(left, right, i, j, sums, between); },
      [&](int64_t i, int64_t j, const Sums& sums) __attribute__((always_inline)) {
        const __m512 units =
            _mm512_mul_ps(_mm512_load_ps(column_units + j * kLanes), _mm512_set1_ps(kSumUnit));
        return [
          finish, combine, units, i, j, by = &sums, to = &sizes.blocks[j],
          largest = LargestSize(sizes.blocks[j])
        ](int64_t r) mutable __attribute__((always_inline)) {
          const __m512 x =
              finish(i * kBlockRows + r, j * kLanes, _mm512_mul_ps(combine(*by, r), units));
          largest.See(x);
          if (r == kBlockRows - 1) *to = largest.Get();
        };
      });
}

/// What a segment's tokens read: of the state before it, and of its own tokens. Units are those of
/// rows (queries, scores; with what else multiplies the row) and of columns (state, values).
struct OutputTerms {
  Operand queries, state, scores, values;
  const float *query_units, *state_units, *scores_units, *values_units;
};

/// o [rows, columns] (rows `width` apart) = queries state + scores values, the latter if kOwn.
/// prepare(j) fills column block j of what isn't filled yet.
template <bool kOwn, typename Prepare>
void WriteOutput(const OutputTerms& terms, int64_t rows, int64_t columns, Upcoming& upcoming,
                 const Prepare& prepare, float* o, int64_t width) {
  struct TwoSums {
    Sums past, own;
  };
  const int64_t padded_rows = RoundUp(rows, kBlockRows), padded = RoundUp(columns, kLanes);
  const int64_t parts = padded_rows * padded / (kBlockRows * kLanes);
  const Combine combine;
  ForBlocks<TwoSums, kOwn ? 2 * kSlots : kSlots>(
      padded_rows, padded, prepare,
      [&](int64_t i, int64_t j, TwoSums & sums,
          const auto& between) __attribute__((always_inline)) {
        MultiplyBlock(terms.queries, terms.state, i, j, sums.past, between);
        if constexpr (kOwn) {
          MultiplyBlock(
              terms.scores, terms.values, i, j,
              sums.own, [&](int slot) __attribute__((always_inline)) { between(kSlots + slot); });
        }
      },
      [&](int64_t i, int64_t j, const TwoSums& sums) __attribute__((always_inline)) {
        upcoming.Touch(parts);
        const __m512 unit = _mm512_set1_ps(kSumUnit);
        const __m512 past_unit =
            _mm512_mul_ps(_mm512_load_ps(terms.state_units + j * kLanes), unit);
        const __m512 own_unit =
            _mm512_mul_ps(_mm512_load_ps(terms.values_units + j * kLanes), unit);
        const int64_t left = columns - j * kLanes;
        const __mmask16 mask =
            left >= kLanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1u << left) - 1);
        return [
          =, by = &sums, last = rows - i * kBlockRows,
          query_units = terms.query_units + i * kBlockRows,
          scores_units = terms.scores_units + i * kBlockRows, to = o + i * kBlockRows * width + j *
          kLanes
        ](int64_t r) __attribute__((always_inline)) {
          __m512 x = _mm512_mul_ps(_mm512_mul_ps(combine(by->past, r), past_unit),
                                   _mm512_set1_ps(query_units[r]));
          if constexpr (kOwn) {
            x = _mm512_fmadd_ps(_mm512_mul_ps(combine(by->own, r), own_unit),
                                _mm512_set1_ps(scores_units[r]), x);
          }
          if (r < last) _mm512_mask_storeu_ps(to + r * width, mask, x);
        };
      });
}

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
