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

// A packed block of rows is 0.4 MB and stays in a core's cache; the packed weight is 3 MB.
constexpr int64_t kBlockColumns = 1024, kBlockDepths = 16, kRowsAtOnce = 128;
constexpr int64_t kStep = 2 * kBlockRows;  // rows and columns that the tiles multiply at once

constexpr int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// Blocks of 16 rows by 32 of depth of x, kPieces tiles each; rows and depth beyond the end
/// are zero.
void PackLeft(const float* from, int64_t stride, int64_t rows, int64_t width, int64_t depths,
              uint16_t* to) {
  for (int64_t r = 0; r < Blocks(rows, kStep) * kStep; ++r) {
    uint16_t* const row = to + r / kBlockRows * depths * kBlock + r % kBlockRows * kBlockDepth;
    for (int64_t d = 0; d < depths; ++d) {
      const int64_t at = d * kBlockDepth, left = r < rows ? width - at : 0;
      const float* const source = from + r * stride + at;
      StoreRow(Load(source, left), Load(source + kLanes, left - kLanes), row + d * kBlock);
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
template <int kRightPieces, typename Weight>
void PackRight(const Weight* from, int64_t stride, int64_t rows, int64_t width, int64_t depths,
               uint16_t* to) {
  for (int64_t d = 0; d < depths; ++d) {
    __m512 words[kRightPieces][kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      __m512i pieces[kRightPieces];
      const int64_t at = d * kBlockDepth;
      CutWeight(from + r * stride + at, r < rows ? width - at : 0, pieces);
#pragma GCC unroll 3
      for (int piece = 0; piece < kRightPieces; ++piece) {
        words[piece][r] = _mm512_castsi512_ps(pieces[piece]);
      }
    }
#pragma GCC unroll 3
    for (int piece = 0; piece < kRightPieces; ++piece) {
      TransposeTile(words[piece]);
      for (int64_t r = 0; r < kLanes; ++r) {
        _mm512_store_ps(to + (d * kRightPieces + piece) * kTile + r * kBlockDepth, words[piece][r]);
      }
    }
  }
}

/// One step of 32 x 32 results at `y`, of which `rows` x `columns` exist: the sums so far where
/// this isn't the first depth, the bias where it is the last.
template <int kRightPieces>
void Step(const uint16_t* left, const uint16_t* right, int64_t depths, bool first,
          const float* bias, int64_t rows, int64_t columns, float* y, int64_t stride) {
  alignas(64) float edge[kStep * kStep];
  const bool whole = rows == kStep && columns == kStep;
  float* const out = whole ? y : edge;
  const int64_t out_stride = whole ? stride : kStep;
  if (!first && !whole) {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(y + r * stride, columns, edge + r * kStep);
  }
  LoadSums(first ? nullptr : out, out_stride);
  AddProducts<kRightPieces>(left, left + depths * kBlock, right,
                            right + depths * kRightPieces * kTile, depths);
  StoreSums(out, out_stride);
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = y + r * stride;
    if (!whole) std::copy_n(edge + r * kStep, columns, row);
    if (bias == nullptr) continue;
    for (int64_t c = 0; c < columns; ++c) row[c] += bias[c];
  }
}

template <int kRightPieces, typename Weight>
void Multiply(const GemvArgs& args) {
  const auto* const weight = static_cast<const Weight*>(args.weight);
  const int64_t depths_at_once = std::min(Blocks(args.k, kBlockDepth), kBlockDepths);
  const int64_t columns_at_once = std::min(Blocks(args.n, kStep) * kStep, kBlockColumns);
  const int64_t right_size = columns_at_once * depths_at_once * kBlockDepth * kRightPieces;
  const int64_t left_size = kRowsAtOnce * depths_at_once * kBlockDepth * kPieces;
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
          PackRight<kRightPieces>(weight + (n + column) * args.k + k, args.k, columns - column,
                                  width, depths, right + block * depths * kRightPieces * kTile);
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
              Step<kRightPieces>(left + r / kBlockRows * depths * kBlock,
                                 right + c / kLanes * depths * kRightPieces * kTile, depths, k == 0,
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
      return amx::Multiply<amx::kPieces, float>(args);
    case DType::kBFloat16:
      return amx::Multiply<1, uint16_t>(args);
    default:
      throw InternalError("matmul: weights are neither float32 nor bfloat16");
  }
#endif
}

}  // namespace natsl::kernels
