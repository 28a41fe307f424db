// Products of small float32 matrices in AMX's integer tiles, for source files compiled with
// NATSL_AMX_BEGIN.
//
// A row of a left operand (a column of a right one) is scaled by a power of two to integers below
// 2^23, each cut in three signed digits to the base 256. Products of digits add up exactly in
// 32-bit integers; of the nine kinds of products the six largest are computed, the three left out
// are below 2^-22 of the largest product. So a result is off by a few 2^-24 of (largest of its
// row) x (largest of its column) x sqrt(depth), which is as good as float32 multiply-adds where
// those work on values of like size. Integer tiles multiply twice as fast as bfloat16 ones, whose
// three pieces need as many products. (Ootomo, Ozaki, Yokota: DGEMM on integer matrix
// multiplication unit, 2024.) A row with a NaN or an infinity has the unit NaN, which its products
// inherit.
//
// A block is 16 rows (columns) by 64 of depth: three tiles of 1 KB, the largest digits first.
// Inside a block depth runs 0, 16, 32, 48, 1, 17, ... on both sides, which saves every shuffle when
// blocks are filled.
#pragma once

#include "kernels/cpu/amx_vectors.h"

#if NATSL_AMX
NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int kDigits = 3;
constexpr int64_t kBlockRows = 16, kBlockDepth = 64;
constexpr int64_t kTile = kBlockRows * kBlockDepth;  // bytes
constexpr int64_t kBlock = kDigits * kTile;

/// What a combined sum of digits (Combine) is multiplied by, besides the units of its row and
/// column: two factors of 2^-22 and the weight 2^16 of the smallest products.
constexpr float kSumUnit = 0x1p-28f;

/// A left or right operand: block (i, d) is at blocks + (i * depth + d) * kBlock.
struct Operand {
  int8_t* blocks = nullptr;
  int64_t depth = 0;  // blocks

  int8_t* At(int64_t i, int64_t d) const { return blocks + (i * depth + d) * kBlock; }
};

/// The size of 16 floats as integers that compare alike; NaN and infinity are the largest.
__attribute__((always_inline)) inline __m512i Size(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF));
}

/// Units and scales of rows (columns) whose largest sizes are given: unit 2^e, so that
/// |x| * scale = |x| 2^(22 - e) is at most 2^23 / 1.004, which three signed digits hold.
__attribute__((always_inline)) inline void UnitsOf(__m512i largest, __m512* units, __m512* scales) {
  const __m512i exponent = _mm512_set1_epi32(0x7F800000);
  // Below 2^-90 values count as that large: their integers shrink to 0.
  const __m512i least = _mm512_castps_si512(_mm512_set1_ps(0x1p-90f));
  const __m512i above =
      _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(largest), _mm512_set1_ps(1.004f)));
  const __m512i unit = _mm512_max_epi32(_mm512_and_si512(above, exponent), least);
  *scales = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32((22 + 254) << 23), unit));
  const __mmask16 broken = _mm512_cmpge_epi32_mask(unit, exponent);
  *units =
      _mm512_mask_mov_ps(_mm512_castsi512_ps(unit), broken, _mm512_set1_ps(__builtin_nanf("")));
}

/// Integers n + 0x808080 for n = x * scale, rounded: their bytes are n's signed digits plus 128.
__attribute__((always_inline)) inline __m512i Biased(__m512 x, __m512 scale) {
  return _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(x, scale)), _mm512_set1_epi32(0x808080));
}

/// x, or y where the mask is set (and x is 0).
__attribute__((always_inline)) inline __m512i Fill(__m512i x, __m512i y, __m512i mask) {
  return _mm512_ternarylogic_epi32(x, y, mask, 0xF8);
}

/// Row of a block's tiles from Biased integers of depths 0..15, 16..31, 32..47, 48..63.
__attribute__((always_inline)) inline void StoreDigits(__m512i a, __m512i b, __m512i c, __m512i d,
                                                       int8_t* to) {
  const __m512i low_half = _mm512_set1_epi32(0x0000FFFF);
  const __m512i high_half = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  const __m512i even_bytes = _mm512_set1_epi32(0x00FF00FF);
  const __m512i odd_bytes = _mm512_set1_epi32(static_cast<int>(0xFF00FF00));
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(128));
  const __m512i ac = Fill(_mm512_slli_epi32(c, 16), a, low_half);
  const __m512i bd = Fill(_mm512_slli_epi32(d, 16), b, low_half);
  const __m512i ac_top = Fill(_mm512_srli_epi32(a, 16), c, high_half);
  const __m512i bd_top = Fill(_mm512_srli_epi32(b, 16), d, high_half);
  const __m512i high = Fill(_mm512_slli_epi16(bd_top, 8), ac_top, even_bytes);
  const __m512i middle = Fill(_mm512_srli_epi16(ac, 8), bd, odd_bytes);
  const __m512i low = Fill(_mm512_slli_epi16(bd, 8), ac, even_bytes);
  _mm512_store_si512(to, _mm512_xor_si512(high, bias));
  _mm512_store_si512(to + kTile, _mm512_xor_si512(middle, bias));
  _mm512_store_si512(to + 2 * kTile, _mm512_xor_si512(low, bias));
}

/// A row of a left operand's blocks from `vectors` (a multiple of 4) of 16 floats; its unit.
template <typename Vector>
__attribute__((always_inline)) inline float PackLeftRow(int64_t vectors, const Vector& vector,
                                                        int8_t* to) {
  __m512i largest = _mm512_setzero_si512();
  for (int64_t n = 0; n < vectors; ++n) largest = _mm512_max_epi32(largest, Size(vector(n)));
  __m512 units, scales;
  UnitsOf(_mm512_set1_epi32(_mm512_reduce_max_epi32(largest)), &units, &scales);
  for (int64_t n = 0; n < vectors; n += 4) {
    const auto biased = [&](int64_t i) __attribute__((always_inline)) {
      return Biased(vector(n + i), scales);
    };
    StoreDigits(biased(0), biased(1), biased(2), biased(3), to + n / 4 * kBlock);
  }
  return _mm512_cvtss_f32(units);
}

/// Left operand from `rows` rows of `width` floats, and the rows' units; rows up to `padded_rows`
/// and the rest of the depth are zero.
inline void PackLeft(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                     int64_t width, const Operand& to, float* units) {
  for (int64_t r = 0; r < padded_rows; ++r) {
    const int64_t left = r < rows ? width : 0;
    const float* const row = from + r * stride;
    units[r] = PackLeftRow(
        to.depth * 4,
        [&](int64_t n)
            __attribute__((always_inline)) { return Load(row + n * kLanes, left - n * kLanes); },
        to.At(r / kBlockRows, 0) + r % kBlockRows * kBlockDepth);
  }
}

/// As PackLeft, but to Biased integers [padded_rows, padded_width] (a multiple of 16), from which
/// IntegersToLeft and IntegersToRight fill operands.
inline void ToIntegers(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                       int64_t width, int64_t padded_width, int32_t* integers, float* units) {
  for (int64_t r = 0; r < padded_rows; ++r) {
    const int64_t left = r < rows ? width : 0;
    const float* const row = from + r * stride;
    __m512i largest = _mm512_setzero_si512();
    for (int64_t c = 0; c < padded_width; c += kLanes) {
      largest = _mm512_max_epi32(largest, Size(Load(row + c, left - c)));
    }
    __m512 unit, scale;
    UnitsOf(_mm512_set1_epi32(_mm512_reduce_max_epi32(largest)), &unit, &scale);
    units[r] = _mm512_cvtss_f32(unit);
    for (int64_t c = 0; c < padded_width; c += kLanes) {
      _mm512_store_si512(integers + r * padded_width + c, Biased(Load(row + c, left - c), scale));
    }
  }
}

/// Left operand whose rows are `rows` (a multiple of 16) rows of integers, `stride` apart.
inline void IntegersToLeft(const int32_t* integers, int64_t stride, int64_t rows,
                           const Operand& to) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t d = 0; d < to.depth; ++d) {
      const int32_t* const at = integers + r * stride + d * kBlockDepth;
      StoreDigits(_mm512_load_si512(at), _mm512_load_si512(at + 16), _mm512_load_si512(at + 32),
                  _mm512_load_si512(at + 48),
                  to.At(r / kBlockRows, d) + r % kBlockRows * kBlockDepth);
    }
  }
}

/// Right operand from a row-major matrix of integers, to.depth * 64 rows, `columns` (a multiple of
/// 16) columns.
inline void IntegersToRight(const int32_t* integers, int64_t stride, int64_t columns,
                            const Operand& to) {
  for (int64_t c = 0; c < columns; c += kLanes) {
    for (int64_t d = 0; d < to.depth; ++d) {
      for (int64_t r = 0; r < kBlockRows; ++r) {
        const int32_t* const at = integers + (d * kBlockDepth + r) * stride + c;
        StoreDigits(_mm512_load_si512(at), _mm512_load_si512(at + 16 * stride),
                    _mm512_load_si512(at + 32 * stride), _mm512_load_si512(at + 48 * stride),
                    to.At(c / kLanes, d) + r * kBlockDepth);
      }
    }
  }
}

/// Sums of products of one block of rows and one of columns, by their weight.
struct alignas(64) Sums {
  int32_t by_weight[kDigits][kBlockRows * kLanes];
};

/// Block row i of `left` times block column j of `right`.
__attribute__((always_inline)) inline void MultiplyBlock(const Operand& left, const Operand& right,
                                                         int64_t i, int64_t j, Sums& sums) {
  const int8_t* a = left.At(i, 0);
  const int8_t* b = right.At(j, 0);
  __asm__ volatile("" ::: "memory");  // the operands are written before tiles read them
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  for (int64_t d = 0; d < left.depth; ++d) {
    _tile_loadd(3, a, 64);
    _tile_loadd(6, b, 64);
    _tile_dpbssd(0, 3, 6);
    _tile_loadd(7, b + kTile, 64);
    _tile_dpbssd(1, 3, 7);
    _tile_loadd(4, a + kTile, 64);
    _tile_dpbssd(2, 4, 7);
    _tile_dpbssd(1, 4, 6);
    _tile_loadd(7, b + 2 * kTile, 64);
    _tile_dpbssd(2, 3, 7);
    _tile_loadd(5, a + 2 * kTile, 64);
    _tile_dpbssd(2, 5, 6);
    a += kBlock;
    b += kBlock;
  }
  _tile_stored(0, sums.by_weight[0], 64);
  _tile_stored(1, sums.by_weight[1], 64);
  _tile_stored(2, sums.by_weight[2], 64);
}

/// Sums as floats. The constants are kept in registers: loads are what the tiles leave least of.
class Combine {
 public:
  Combine() { __asm__("" : "+v"(middle_), "+v"(high_)); }

  /// Row r of `sums`, to be multiplied by kSumUnit and the units of row and columns.
  __attribute__((always_inline)) __m512 operator()(const Sums& sums, int64_t r) const {
    const auto row = [&](int weight) __attribute__((always_inline)) {
      return _mm512_cvtepi32_ps(_mm512_load_si512(sums.by_weight[weight] + r * kLanes));
    };
    return _mm512_fmadd_ps(row(0), high_, _mm512_fmadd_ps(row(1), middle_, row(2)));
  }

 private:
  __m512 middle_ = _mm512_set1_ps(0x1p8f), high_ = _mm512_set1_ps(0x1p16f);
};

/// The largest Size of 16 columns, so far as they were seen.
class LargestSize {
 public:
  explicit LargestSize(__m512i largest) : largest_(largest) { __asm__("" : "+v"(mask_)); }
  __attribute__((always_inline)) void See(__m512 x) {
    largest_ = _mm512_max_epi32(largest_, _mm512_and_si512(_mm512_castps_si512(x), mask_));
  }
  __m512i Get() const { return largest_; }

 private:
  __m512i mask_ = _mm512_set1_epi32(0x7FFFFFFF), largest_;
};

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
