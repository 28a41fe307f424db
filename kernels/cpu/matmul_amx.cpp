// Dense products in AMX tiles. The weight is cut, transposed and packed a block of columns and
// depth at a time by all threads together; then each thread packs blocks of rows of x and
// multiplies.
#include "core/error.h"
#include "kernels/cpu/amx_matrix.h"
#include "kernels/cpu/mixer_scratch.h"
#include "kernels/matmul.h"
#include "kernels/require.h"

#if NATSL_AMX
#include <omp.h>

NATSL_AMX_BEGIN
namespace natsl::kernels::amx {
namespace {

constexpr int kFloatPieces = 3;
// A packed block of rows is 0.4 MB and stays in a core's cache; the packed weight is 3 MB.
constexpr int64_t kBlockColumns = 1024, kBlockDepths = 16, kRowsAtOnce = 128;
constexpr int64_t kStep = 2 * kBlockRows;  // rows and columns that the tiles multiply at once
constexpr int64_t kTileBytes = 64;

constexpr int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// Depths 0..15 in x, 16..31 in y, cut exactly: 24 bits are three times 8.
__attribute__((always_inline)) inline void Cut(__m512 x, __m512 y, __m512i* pieces) {
  const __m512i mask = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  const auto top = [&](__m512 v) __attribute__((always_inline)) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(v), mask));
  };
#pragma GCC unroll 3
  for (int piece = 0; piece < kFloatPieces; ++piece) {
    const __m512i low =
        reinterpret_cast<__m512i>(reinterpret_cast<__v16su>(_mm512_castps_si512(x)) >> 16);
    pieces[piece] = _mm512_ternarylogic_epi32(low, mask, _mm512_castps_si512(y), 0xF8);
    x = _mm512_sub_ps(x, top(x));
    y = _mm512_sub_ps(y, top(y));
  }
}

/// Blocks of 16 rows by 32 of depth of x, kFloatPieces tiles each; rows and depth beyond the end
/// are zero.
void PackLeft(const float* from, int64_t stride, int64_t rows, int64_t width, int64_t depths,
              uint16_t* to) {
  for (int64_t r = 0; r < Blocks(rows, kStep) * kStep; ++r) {
    uint16_t* const row =
        to + r / kBlockRows * depths * kFloatPieces * kTile + r % kBlockRows * kBlockDepth;
    for (int64_t d = 0; d < depths; ++d) {
      const int64_t at = d * kBlockDepth, left = r < rows ? width - at : 0;
      const float* const source = from + r * stride + at;
      __m512i pieces[kFloatPieces];
      Cut(Load(source, left), Load(source + kLanes, left - kLanes), pieces);
#pragma GCC unroll 3
      for (int piece = 0; piece < kFloatPieces; ++piece) {
        _mm512_store_si512(row + (d * kFloatPieces + piece) * kTile, pieces[piece]);
      }
    }
  }
}

__attribute__((always_inline)) inline void CutWeight(const float* from, int64_t left,
                                                     __m512i* pieces) {
  Cut(Load(from, left), Load(from + kLanes, left - kLanes), pieces);
}

/// Up to 16 halves, each in the lower half of a word.
__attribute__((always_inline)) inline __m512i LoadHalves(const uint16_t* from, int64_t count) {
  if (count <= 0) return _mm512_setzero_si512();
  const auto mask = count >= kLanes ? __mmask16(0xFFFF) : static_cast<__mmask16>((1u << count) - 1);
  return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
}

__attribute__((always_inline)) inline void CutWeight(const uint16_t* from, int64_t left,
                                                     __m512i* pieces) {
  pieces[0] = _mm512_or_si512(LoadHalves(from, left),
                              _mm512_slli_epi32(LoadHalves(from + kLanes, left - kLanes), 16));
}

/// Blocks of 32 of depth by 16 columns from 16 rows of the weight: a tile's row r has depths r and
/// r + 16 of each column, so that its words are those of the rows' pieces, transposed.
template <int kPieces, typename Weight>
void PackRight(const Weight* from, int64_t stride, int64_t rows, int64_t width, int64_t depths,
               uint16_t* to) {
  for (int64_t d = 0; d < depths; ++d) {
    __m512 words[kPieces][kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      __m512i pieces[kPieces];
      const int64_t at = d * kBlockDepth;
      CutWeight(from + r * stride + at, r < rows ? width - at : 0, pieces);
#pragma GCC unroll 3
      for (int piece = 0; piece < kPieces; ++piece) {
        words[piece][r] = _mm512_castsi512_ps(pieces[piece]);
      }
    }
#pragma GCC unroll 3
    for (int piece = 0; piece < kPieces; ++piece) {
      TransposeTile(words[piece]);
      for (int64_t r = 0; r < kLanes; ++r) {
        _mm512_store_ps(to + (d * kPieces + piece) * kTile + r * kBlockDepth, words[piece][r]);
      }
    }
  }
}

/// Tiles 0..3, two by two, += left blocks a0, a1 times right blocks b0, b1 over `depths`; the small
/// products come first.
template <int kPieces>
__attribute__((always_inline)) inline void AddProducts(const uint16_t* a0, const uint16_t* a1,
                                                       const uint16_t* b0, const uint16_t* b1,
                                                       int64_t depths) {
#define NATSL_LEFT(piece)                         \
  _tile_loadd(4, a0 + piece * kTile, kTileBytes); \
  _tile_loadd(5, a1 + piece * kTile, kTileBytes);
#define NATSL_RIGHT(piece)                        \
  _tile_loadd(6, b0 + piece * kTile, kTileBytes); \
  _tile_loadd(7, b1 + piece * kTile, kTileBytes);
#define NATSL_MULTIPLY()   \
  _tile_dpbf16ps(0, 4, 6); \
  _tile_dpbf16ps(1, 4, 7); \
  _tile_dpbf16ps(2, 5, 6); \
  _tile_dpbf16ps(3, 5, 7);
  for (int64_t d = 0; d < depths; ++d) {
    if constexpr (kPieces == 1) {
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
    a0 += kFloatPieces * kTile;
    a1 += kFloatPieces * kTile;
    b0 += kPieces * kTile;
    b1 += kPieces * kTile;
  }
#undef NATSL_LEFT
#undef NATSL_RIGHT
#undef NATSL_MULTIPLY
}

void LoadSums(const float* from, int64_t stride) {
  _tile_loadd(0, from, stride * 4);
  _tile_loadd(1, from + kLanes, stride * 4);
  _tile_loadd(2, from + kBlockRows * stride, stride * 4);
  _tile_loadd(3, from + kBlockRows * stride + kLanes, stride * 4);
}

void StoreSums(float* to, int64_t stride) {
  _tile_stored(0, to, stride * 4);
  _tile_stored(1, to + kLanes, stride * 4);
  _tile_stored(2, to + kBlockRows * stride, stride * 4);
  _tile_stored(3, to + kBlockRows * stride + kLanes, stride * 4);
}

void ZeroSums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/// One step of 32 x 32 results at `y`, of which `rows` x `columns` exist: the sums so far where
/// this isn't the first depth, the bias where it is the last.
template <int kPieces>
void Step(const uint16_t* left, const uint16_t* right, int64_t depths, bool first,
          const float* bias, int64_t rows, int64_t columns, float* y, int64_t stride) {
  alignas(64) float edge[kStep * kStep];
  const bool whole = rows == kStep && columns == kStep;
  float* const out = whole ? y : edge;
  const int64_t out_stride = whole ? stride : kStep;
  if (first) {
    ZeroSums();
  } else {
    if (!whole) {
      for (int64_t r = 0; r < rows; ++r) std::copy_n(y + r * stride, columns, edge + r * kStep);
    }
    LoadSums(out, out_stride);
  }
  AddProducts<kPieces>(left, left + depths * kFloatPieces * kTile, right,
                       right + depths * kPieces * kTile, depths);
  StoreSums(out, out_stride);
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = y + r * stride;
    if (!whole) std::copy_n(edge + r * kStep, columns, row);
    if (bias == nullptr) continue;
    for (int64_t c = 0; c < columns; ++c) row[c] += bias[c];
  }
}

template <int kPieces, typename Weight>
void Multiply(const GemvArgs& args) {
  const auto* const weight = static_cast<const Weight*>(args.weight);
  const int64_t depths_at_once = std::min(Blocks(args.k, kBlockDepth), kBlockDepths);
  const int64_t columns_at_once = std::min(Blocks(args.n, kStep) * kStep, kBlockColumns);
  const int64_t right_size = columns_at_once * depths_at_once * kBlockDepth * kPieces;
  const int64_t left_size = kRowsAtOnce * depths_at_once * kBlockDepth * kFloatPieces;
  float* const shared = ThreadScratch((right_size + left_size) / 2);
  auto* const right = reinterpret_cast<uint16_t*>(shared);
  const int64_t row_blocks = Blocks(args.m, kRowsAtOnce);
#pragma omp parallel
  {
    const AmxTiles tiles;
    // The calling thread's scratch memory holds the packed weight too.
    auto* const left = omp_get_thread_num() == 0
                           ? right + right_size
                           : reinterpret_cast<uint16_t*>(ThreadScratch(left_size / 2));
    // Few rows: the columns are split too, so that all threads have work.
    const int64_t threads = omp_get_num_threads();
    const int64_t task_columns = row_blocks >= 4 * threads ? kBlockColumns : kBlockColumns / 4;
    for (int64_t n = 0; n < args.n; n += columns_at_once) {
      const int64_t columns = std::min(args.n - n, columns_at_once);
      for (int64_t k = 0; k < args.k; k += kBlockDepths * kBlockDepth) {
        const int64_t width = std::min(args.k - k, kBlockDepths * kBlockDepth);
        const int64_t depths = Blocks(width, kBlockDepth);
        const bool last = k + width == args.k;
#pragma omp for schedule(static)
        for (int64_t block = 0; block < Blocks(columns, kStep) * 2; ++block) {
          const int64_t column = block * kLanes;
          PackRight<kPieces>(weight + (n + column) * args.k + k, args.k, columns - column, width,
                             depths, right + block * depths * kPieces * kTile);
        }
        const int64_t column_tasks = Blocks(columns, task_columns);
#pragma omp for schedule(dynamic)
        for (int64_t task = 0; task < row_blocks * column_tasks; ++task) {
          const int64_t row = task / column_tasks * kRowsAtOnce;
          const int64_t rows = std::min(args.m - row, kRowsAtOnce);
          const int64_t begin = task % column_tasks * task_columns;
          const int64_t end = std::min(begin + task_columns, columns);
          PackLeft(args.x + row * args.x_stride + k, args.x_stride, rows, width, depths, left);
          for (int64_t c = begin; c < end; c += kStep) {
            const int64_t step_columns = std::min(end - c, kStep);
            for (int64_t r = 0; r < rows; r += kStep) {
              Step<kPieces>(left + r / kBlockRows * depths * kFloatPieces * kTile,
                            right + c / kLanes * depths * kPieces * kTile, depths, k == 0,
                            last && args.bias != nullptr ? args.bias + n + c : nullptr,
                            std::min(rows - r, kStep), step_columns,
                            args.y + (row + r) * args.y_stride + n + c, args.y_stride);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::amx
NATSL_AMX_END
#endif  // NATSL_AMX

namespace natsl::kernels {

bool MatmulUsable() { return AmxUsable(); }

void RunMatmulCpu(const GemvArgs& args) {
  Validate(args);
  Require(MatmulUsable(), "matmul: this processor has no matrix tiles");
#if NATSL_AMX
  if (args.m == 0 || args.n == 0) return;
  Require(args.k > 0, "matmul: k is {}, expected > 0", args.k);
  switch (args.weight_dtype) {
    case DType::kFloat32:
      return amx::Multiply<3, float>(args);
    case DType::kBFloat16:
      return amx::Multiply<1, uint16_t>(args);
    default:
      throw InternalError("matmul: weights are neither float32 nor bfloat16");
  }
#endif
}

}  // namespace natsl::kernels
