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

#include "kernels/cpu/amx_vectors.h"

#if NATSL_AMX

NATSL_AMX_BEGIN
namespace natsl::kernels::amx {

constexpr int kPieces = 3;
constexpr int64_t kBlockRows = 16, kBlockDepth = 32;
constexpr int64_t kTile = kBlockRows * kBlockDepth;  // bfloat16s
constexpr int64_t kBlock = kPieces * kTile;

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

}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX
