// Vectors of 16 floats for the source files that use AMX tiles, compiled with NATSL_AMX_BEGIN.
#pragma once

#include "kernels/cpu/amx.h"

#if NATSL_AMX
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

// The compiler's own header uses an undefined vector on purpose; GCC 12 warns about it.
#define NATSL_AMX_BEGIN                                                                         \
  _Pragma("GCC push_options") _Pragma(                                                          \
      "GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,fma,avx2,amx-tile,amx-bf16,amx-int8\")") \
      _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wuninitialized\"")      \
          _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"")
#define NATSL_AMX_END _Pragma("GCC diagnostic pop") _Pragma("GCC pop_options")

NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int64_t kLanes = 16;

/// Up to 16 of `count` floats, the rest zero.
inline __m512 Load(const float* from, int64_t count) {
  if (count >= kLanes) return _mm512_loadu_ps(from);
  if (count <= 0) return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
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

/// out [padded_width, stride] = the transpose of `rows` rows of `width`; columns up to
/// `padded_rows` and the added rows are zero. Both padded sizes are multiples of 16.
inline void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t padded_rows,
                      int64_t width, int64_t padded_width, float* out, int64_t stride) {
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
