// Products of small float32 matrices in AMX tiles, for source files compiled with NATSL_AMX_BEGIN.
//
// A matrix is cut in blocks of 16 rows (left operand) or columns (right) by 32 of depth. A block is
// three tiles of 1 KB: a float's 24 bits cut in bfloat16s of 8, which is exact. Six of the nine
// products of tiles are added up in float32; the three left out are below 2^-21 of the product, so
// that results are as good as those of float32 multiply-adds. (Two tiles and three products would
// take half the time, but their 2^-16 adds up to 1e-4 of logits in models of a few layers.)
// Inside a block the depth runs 0, 16, 1, 17, ... on both sides, which saves every shuffle when
// blocks are filled.
#pragma once

#include "kernels/cpu/amx.h"

#if NATSL_AMX
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

// The compiler's own header uses an undefined vector on purpose; GCC 12 warns about it.
#define NATSL_AMX_BEGIN                                                                        \
  _Pragma("GCC push_options")                                                                  \
      _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,fma,avx2,amx-tile,amx-bf16\")") \
          _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wuninitialized\"") \
              _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
#define NATSL_AMX_END _Pragma("GCC diagnostic pop") _Pragma("GCC pop_options")

NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int kPieces = 3;
constexpr int64_t kBlockRows = 16, kBlockDepth = 32;
constexpr int64_t kTile = kBlockRows * kBlockDepth;  // bfloat16s
constexpr int64_t kBlock = kPieces * kTile;
constexpr int64_t kLanes = 16;

/// A left or right operand: block (i, d) is at blocks + (i * depth + d) * kBlock.
struct Operand {
  uint16_t* blocks = nullptr;
  int64_t depth = 0;  // blocks

  uint16_t* At(int64_t i, int64_t d) const { return blocks + (i * depth + d) * kBlock; }
};

inline __m512 Load(const float* from, int64_t count) {
  if (count >= kLanes) return _mm512_loadu_ps(from);
  if (count <= 0) return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
}

/// A row of a block's tiles: depths 0..15 in x, 16..31 in y. The cut is exact: a float's 24 bits
/// are three times 8.
__attribute__((always_inline)) inline void Cut(__m512 x, __m512 y, __m512i* pieces) {
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  const auto top = [&](__m512 v) __attribute__((always_inline)) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(v), mask));
  };
#pragma GCC unroll 3
  for (int piece = 0; piece < kPieces; ++piece) {
    // The upper halves of x below those of y.
    const __m512i low =
        reinterpret_cast<__m512i>(reinterpret_cast<__v16su>(_mm512_castps_si512(x)) >> 16);
    pieces[piece] = _mm512_ternarylogic_epi32(low, mask, _mm512_castps_si512(y), 0xF8);
    x = _mm512_sub_ps(x, top(x));
    y = _mm512_sub_ps(y, top(y));
  }
}

__attribute__((always_inline)) inline void StoreRow(__m512 x, __m512 y, uint16_t* to) {
  __m512i pieces[kPieces];
  Cut(x, y, pieces);
#pragma GCC unroll 3
  for (int piece = 0; piece < kPieces; ++piece) {
    _mm512_store_si512(to + piece * kTile, pieces[piece]);
  }
}

/// Left operand from `rows` rows of `width` floats, row r times factors[r]; rows up to
/// `padded_rows` and the rest of the depth are zero.
inline void PackLeft(const float* from, int64_t stride, int64_t rows, int64_t padded_rows,
                     int64_t width, const float* factors, const Operand& to) {
  for (int64_t r = 0; r < padded_rows; ++r) {
    const __m512 factor = _mm512_set1_ps(r < rows ? factors[r] : 0);
    for (int64_t d = 0; d < to.depth; ++d) {
      const int64_t at = d * kBlockDepth, left = r < rows ? width - at : 0;
      const float* const row = from + r * stride + at;
      StoreRow(_mm512_mul_ps(Load(row, left), factor),
               _mm512_mul_ps(Load(row + kLanes, left - kLanes), factor),
               to.At(r / kBlockRows, d) + r % kBlockRows * kBlockDepth);
    }
  }
}

/// Right operand from a row-major matrix of depth * 32 rows: `columns` (a multiple of 16) columns,
/// row r times factors[r].
inline void PackRight(const float* from, int64_t stride, int64_t columns, int64_t depth,
                      const float* factors, const Operand& to) {
  for (int64_t d = 0; d < depth; ++d) {
    for (int64_t r = 0; r < kBlockRows; ++r) {
      const int64_t first = d * kBlockDepth + r, second = first + kBlockRows;
      const __m512 a = _mm512_set1_ps(factors[first]), b = _mm512_set1_ps(factors[second]);
      for (int64_t c = 0; c < columns; c += kLanes) {
        StoreRow(_mm512_mul_ps(_mm512_load_ps(from + first * stride + c), a),
                 _mm512_mul_ps(_mm512_load_ps(from + second * stride + c), b),
                 to.At(c / kLanes, d) + r * kBlockDepth);
      }
    }
  }
}

/// As PackRight without factors; afterwards row r of `from` is multiplied by decays[r].
inline void PackRightThenScale(float* from, int64_t stride, int64_t columns, const float* decays,
                               const Operand& to) {
  for (int64_t d = 0; d < to.depth; ++d) {
    for (int64_t r = 0; r < kBlockRows; ++r) {
      const int64_t first = d * kBlockDepth + r, second = first + kBlockRows;
      const __m512 a = _mm512_set1_ps(decays[first]), b = _mm512_set1_ps(decays[second]);
      for (int64_t c = 0; c < columns; c += kLanes) {
        float* const x = from + first * stride + c;
        float* const y = from + second * stride + c;
        const __m512 upper = _mm512_load_ps(x), lower = _mm512_load_ps(y);
        StoreRow(upper, lower, to.At(c / kLanes, d) + r * kBlockDepth);
        _mm512_store_ps(x, _mm512_mul_ps(upper, a));
        _mm512_store_ps(y, _mm512_mul_ps(lower, b));
      }
    }
  }
}

/// One term of a product's sum: left (16-row blocks) times right over `depth` blocks.
struct Term {
  Operand left, right;
  int64_t depth = 0;
};

/// Tiles 0..3, two by two, += left blocks a0, a1 times right blocks b0, b1 over `depths`; the small
/// products come first. A right block has kRightPieces tiles: kPieces, or 1 of bfloat16s as they
/// are.
template <int kRightPieces = kPieces>
__attribute__((always_inline)) inline void AddProducts(const uint16_t* a0, const uint16_t* a1,
                                                       const uint16_t* b0, const uint16_t* b1,
                                                       int64_t depths) {
#define NATSL_LEFT(piece)                 \
  _tile_loadd(4, a0 + piece * kTile, 64); \
  _tile_loadd(5, a1 + piece * kTile, 64);
#define NATSL_RIGHT(piece)                \
  _tile_loadd(6, b0 + piece * kTile, 64); \
  _tile_loadd(7, b1 + piece * kTile, 64);
#define NATSL_MULTIPLY()   \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7);
  for (int64_t d = 0; d < depths; ++d) {
    if constexpr (kRightPieces == 1) {
      NATSL_RIGHT(0)
      NATSL_LEFT(2)
      NATSL_MULTIPLY()
      NATSL_LEFT(1)
      NATSL_MULTIPLY()
      NATSL_LEFT(0)
      NATSL_MULTIPLY()
    } else {
      NATSL_LEFT(0)
      NATSL_RIGHT(2)
      NATSL_MULTIPLY()
      NATSL_RIGHT(1)
      NATSL_MULTIPLY()
      NATSL_LEFT(1)
      NATSL_MULTIPLY()
      NATSL_RIGHT(0)
      NATSL_MULTIPLY()
      NATSL_LEFT(2)
      NATSL_MULTIPLY()
      NATSL_LEFT(0)
      NATSL_MULTIPLY()
    }
    a0 += kBlock;
    a1 += kBlock;
    b0 += kRightPieces * kTile;
    b1 += kRightPieces * kTile;
  }
#undef NATSL_LEFT
#undef NATSL_RIGHT
#undef NATSL_MULTIPLY
}

/// Tiles 0..3 = 32 x 32 floats at `from`, zeros where it is null.
__attribute__((always_inline)) inline void LoadSums(const float* from, int64_t stride) {
  if (from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  _tile_loadd(0, from, stride * 4);
  _tile_loadd(1, from + kLanes, stride * 4);
  _tile_loadd(2, from + kBlockRows * stride, stride * 4);
  _tile_loadd(3, from + kBlockRows * stride + kLanes, stride * 4);
}

__attribute__((always_inline)) inline void StoreSums(float* to, int64_t stride) {
  _tile_stored(0, to, stride * 4);
  _tile_stored(1, to + kLanes, stride * 4);
  _tile_stored(2, to + kBlockRows * stride, stride * 4);
  _tile_stored(3, to + kBlockRows * stride + kLanes, stride * 4);
}

/// 32 x 32 floats at block row i, block column j: out = start (zero if null) + sum of terms.
inline void MultiplyBlock(const float* start, int64_t start_stride, const Term* terms, int count,
                          int64_t i, int64_t j, float* out, int64_t stride) {
  LoadSums(start == nullptr ? nullptr : start + i * kBlockRows * start_stride + j * kLanes,
           start_stride);
  for (int n = 0; n < count; ++n) {
    const Term& term = terms[n];
    AddProducts(term.left.At(i, 0), term.left.At(i + 1, 0), term.right.At(j, 0),
                term.right.At(j + 1, 0), term.depth);
  }
  StoreSums(out + i * kBlockRows * stride + j * kLanes, stride);
}

/// Row i becomes column i.
__attribute__((always_inline)) inline void TransposeTile(__m512* a) {
  __m512 b[kLanes];
  // Pairs of rows, then pairs of pairs inside each 128-bit lane, then the lanes.
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kLanes; i += 4) {
    const __m512d low0 = _mm512_castps_pd(b[i]), high0 = _mm512_castps_pd(b[i + 1]);
    const __m512d low1 = _mm512_castps_pd(b[i + 2]), high1 = _mm512_castps_pd(b[i + 3]);
    a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low0, low1));
    a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low0, low1));
    a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high0, high1));
    a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high0, high1));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
    b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xDD);
    b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
    b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
    a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
    a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xDD);
    a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xDD);
  }
}

/// Element i is the sum of row i.
__attribute__((always_inline)) inline __m512 SumRows(const __m512* rows) {
  __m512 a[kLanes / 2], b[kLanes / 4], c[2];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m512 x = rows[2 * i], y = rows[2 * i + 1];
    a[i] = _mm512_add_ps(_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512d x = _mm512_castps_pd(a[2 * i]), y = _mm512_castps_pd(a[2 * i + 1]);
    b[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                         _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  }
  // Each 128-bit lane of b[i] has partial sums of rows 4 i .. 4 i + 3.
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    c[i] = _mm512_add_ps(_mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0x88),
                         _mm512_shuffle_f32x4(b[2 * i], b[2 * i + 1], 0xDD));
  }
  return _mm512_add_ps(_mm512_shuffle_f32x4(c[0], c[1], 0x88),
                       _mm512_shuffle_f32x4(c[0], c[1], 0xDD));
}

/// out [width rounded up to 32 rows, stride] = the transpose of `rows` rows; columns up to
/// `padded_rows` (a multiple of 16) and the added rows are zero.
inline void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t padded_rows,
                      int64_t width, float* out, int64_t stride) {
  const int64_t padded_width = (width + kBlockDepth - 1) / kBlockDepth * kBlockDepth;
  for (int64_t r = 0; r < padded_rows; r += kLanes) {
    for (int64_t c = 0; c < padded_width; c += kLanes) {
      __m512 tile[kLanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) {
        tile[i] = Load(from + (r + i) * from_stride + c, r + i < rows ? width - c : 0);
      }
      TransposeTile(tile);
      float* const to = out + c * stride + r;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kLanes; ++i) _mm512_store_ps(to + i * stride, tile[i]);
    }
  }
}

/// exp of values <= 0 within 2 units in the last place; below -87 it is 0.
__attribute__((always_inline)) inline __m512 DecayExp(__m512 x) {
  const __mmask16 live = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
  // ln 2 in two parts, the first short enough for an exact product.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-0.00021219444005471377f), r);
  __m512 p = _mm512_set1_ps(0.0013814467238262296f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.008368780836462975f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.04166839271783829f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.1666651964187622f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.4999999403953552f));
  p = _mm512_fmadd_ps(_mm512_mul_ps(p, r), r, r);
  p = _mm512_add_ps(p, _mm512_set1_ps(1));
  return _mm512_maskz_scalef_ps(live, p, n);
}

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
