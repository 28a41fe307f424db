// Panels of 64 columns for the chunked mixers in AMX tiles: [rows, 64] floats, 64-byte aligned.
#pragma once

#include <cstring>

#include "kernels/cpu/amx_matrix.h"
#include "kernels/cpu/mixer_chunks.h"
#include "kernels/cpu/mixer_scratch.h"

#if NATSL_AMX
NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int64_t kChunk = kPageTokens;
constexpr int64_t kPanel = 64;
constexpr int64_t kPanelBlocks = kPanel / kLanes, kChunkBlocks = kChunk / kBlockRows;
constexpr int64_t kChunkDepth = kChunk / kBlockDepth;

inline Operand TakeOperand(Scratch& scratch, int64_t row_blocks, int64_t depth) {
  return {reinterpret_cast<uint16_t*>(scratch.Take(row_blocks * depth * kBlock / 2)), depth};
}

/// panel [padded_rows, 64] = factors[r] times `columns` columns of row r; the rest is zero.
inline void LoadPanel(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                      int64_t columns, const float* factors, float* panel) {
  for (int64_t r = 0; r < padded_rows; ++r) {
    const __m512 factor = _mm512_set1_ps(r < rows ? factors[r] : 0);
    for (int64_t c = 0; c < kPanel; c += kLanes) {
      const __m512 value = Load(from + r * stride + c, r < rows ? columns - c : 0);
      _mm512_store_ps(panel + r * kPanel + c, _mm512_mul_ps(value, factor));
    }
  }
}

/// Right operand from rows of `columns` floats, and a second one from the same with row r times
/// factors[r] (left out where `factors` is null); the rest of the depth and the columns up to
/// `padded_columns` are zero.
inline void PackRows(const float* from, int64_t stride, int64_t rows, int64_t columns,
                     int64_t padded_columns, int64_t depth, const float* factors, const Operand& to,
                     const Operand& second) {
  for (int64_t d = 0; d < depth; ++d) {
    for (int64_t r = 0; r < kBlockRows; ++r) {
      const int64_t upper = d * kBlockDepth + r, lower = upper + kBlockRows;
      const float* const row = from + upper * stride;
      for (int64_t c = 0; c < padded_columns; c += kLanes) {
        const __m512 x = Load(row + c, upper < rows ? columns - c : 0);
        const __m512 y = Load(row + kBlockRows * stride + c, lower < rows ? columns - c : 0);
        const int64_t in_block = r * kBlockDepth;
        StoreRow(x, y, to.At(c / kLanes, d) + in_block);
        if (factors == nullptr) continue;
        StoreRow(_mm512_mul_ps(x, _mm512_set1_ps(upper < rows ? factors[upper] : 0)),
                 _mm512_mul_ps(y, _mm512_set1_ps(lower < rows ? factors[lower] : 0)),
                 second.At(c / kLanes, d) + in_block);
      }
    }
  }
}

inline void StorePanel(const float* panel, int64_t rows, int64_t columns, float* to,
                       int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + r * stride, panel + r * kPanel, static_cast<size_t>(columns) * sizeof(float));
  }
}

/// What a product adds up for rows 32 i .. 32 i + 31: all of `full`, and of `lower`, a lower
/// triangular matrix of tokens, the depth that isn't zero there. Either may be empty (depth 0).
struct Sum {
  Term full, lower;
};

/// out [rows, columns] = start (zero if null) + sum; rows and columns are multiples of 32.
inline void MultiplyPanel(const float* start, const Sum& sum, int64_t rows, int64_t columns,
                          Upcoming& upcoming, int64_t parts, float* out, int64_t stride) {
  for (int64_t j = 0; j < columns / kLanes; j += 2) {
    for (int64_t i = 0; i < rows / kBlockRows; i += 2) {
      Term terms[] = {sum.full, sum.lower};
      terms[1].depth = std::min(terms[1].depth, i / 2 + 1);
      upcoming.Touch(parts);
      MultiplyBlock(start, kPanel, terms, 2, i, j, out, stride);
    }
  }
}

/// The same, of which only `real_rows` and `real_columns` are written to `to`.
inline void MultiplyToOutput(const float* start, const Sum& sum, int64_t real_rows,
                             int64_t real_columns, Upcoming& upcoming, int64_t parts, float* buffer,
                             float* to, int64_t stride) {
  const int64_t rows = RoundUp(real_rows, 2 * kBlockRows);
  const int64_t columns = RoundUp(real_columns, 2 * kLanes);
  if (rows == real_rows && columns == real_columns) {
    MultiplyPanel(start, sum, rows, columns, upcoming, parts, to, stride);
    return;
  }
  MultiplyPanel(start, sum, rows, columns, upcoming, parts, buffer, kPanel);
  StorePanel(buffer, real_rows, real_columns, to, stride);
}

/// scores [64, 64] = left right^T for tokens up to `rows` (a multiple of 32): the blocks of 32 by
/// 32 on and below the diagonal.
inline void MultiplyScores(const Operand& left, const Operand& right, int64_t rows, float* scores) {
  const Term term = {left, right, left.depth};
  for (int64_t i = 0; i < rows / kBlockRows; i += 2) {
    for (int64_t j = 0; j <= i; j += 2) {
      MultiplyBlock(nullptr, 0, &term, 1, i, j, scores, kChunk);
    }
  }
}

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
