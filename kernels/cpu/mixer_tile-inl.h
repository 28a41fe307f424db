// Products of small matrices for the chunked mixers, for the running Highway target: tiles of four
// rows by kPanel columns, held in registers. A panel is a matrix of kPanel columns, rows
// contiguous.
#if defined(NATSL_KERNELS_CPU_MIXER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NATSL_KERNELS_CPU_MIXER_TILE_INL_H_
#undef NATSL_KERNELS_CPU_MIXER_TILE_INL_H_
#else
#define NATSL_KERNELS_CPU_MIXER_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/cpu/mixer_chunks.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

constexpr int64_t kChunk = kPageTokens;
constexpr int kTileRows = 4;
// 16 accumulators where there are 32 registers, 8 where there are 16.
constexpr int kTileVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
constexpr int64_t kPanel = kTileVectors * kLanes;
constexpr int64_t kPanelsOfUnit = kUnitColumns / kPanel;
static_assert(kUnitColumns % kPanel == 0 && kChunk % kPanel == 0);

/// Four rows of `kVectors` vectors.
template <int kVectors = kTileVectors>
struct Tile {
  Vec rows[kTileRows][kVectors];

  HWY_INLINE void Clear() {
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) rows[r][n] = hn::Zero(Tag());
    }
  }

  HWY_INLINE void Load(const float* from, int64_t stride) {
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n)
        rows[r][n] = hn::Load(Tag(), from + r * stride + n * kLanes);
    }
  }

  HWY_INLINE void Store(float* to, int64_t stride) const {
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) hn::Store(rows[r][n], Tag(), to + r * stride + n * kLanes);
    }
  }

  /// Row r times factors[r].
  HWY_INLINE void ScaleRows(const float* factors) {
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      const Vec factor = hn::Set(Tag(), factors[r]);
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) rows[r][n] = hn::Mul(rows[r][n], factor);
    }
  }

  /// += A B for `depth` rows of B; A(r, i) is a[r * a_row + i * a_depth].
  HWY_INLINE void Add(const float* HWY_RESTRICT a, int64_t a_row, int64_t a_depth,
                      const float* HWY_RESTRICT b, int64_t b_stride, int64_t depth) {
    for (int64_t i = 0; i < depth; ++i) {
      Vec b_row[kVectors];
      HWY_UNROLL(4)
      for (int n = 0; n < kVectors; ++n) b_row[n] = hn::Load(Tag(), b + i * b_stride + n * kLanes);
      HWY_UNROLL(4)
      for (int r = 0; r < kTileRows; ++r) {
        const Vec a_cell = hn::Set(Tag(), a[r * a_row + i * a_depth]);
        HWY_UNROLL(4)
        for (int n = 0; n < kVectors; ++n) rows[r][n] = hn::MulAdd(a_cell, b_row[n], rows[r][n]);
      }
    }
  }
};

template <int kVectors>
HWY_INLINE void StoreProduct(const float* a, int64_t a_row, int64_t a_depth, const float* b,
                             int64_t depth, float* out) {
  Tile<kVectors> tile;
  tile.Clear();
  tile.Add(a, a_row, a_depth, b, kChunk, depth);
  tile.Store(out, kChunk);
}

/// Four rows of out [.., kChunk] = A B^T for `columns` (rounded up to whole vectors) of a chunk's
/// tokens; b_transposed is [depth, kChunk].
inline void ScoreRows(const float* a, int64_t a_row, int64_t a_depth, const float* b_transposed,
                      int64_t depth, int64_t columns, float* out) {
  for (int64_t c = 0; c < columns; c += kPanel) {
    const int64_t vectors = std::min<int64_t>(kTileVectors, (columns - c + kLanes - 1) / kLanes);
    const float* const b = b_transposed + c;
    if (vectors == 1) {
      StoreProduct<1>(a, a_row, a_depth, b, depth, out + c);
    } else if (vectors == 2) {
      StoreProduct<2>(a, a_row, a_depth, b, depth, out + c);
    } else if (vectors == 3) {
      StoreProduct<3>(a, a_row, a_depth, b, depth, out + c);
    } else {
      StoreProduct<kTileVectors>(a, a_row, a_depth, b, depth, out + c);
    }
  }
}

/// panel [rows, kPanel] = `columns` columns of a row-major matrix; the rest is zero.
inline void LoadPanel(const float* from, int64_t stride, int64_t rows, int64_t columns,
                      float* panel) {
  const Tag d;
  for (int64_t r = 0; r < rows; ++r) {
    float* const to = panel + r * kPanel;
    if (columns == kPanel) {
      for (int64_t c = 0; c < kPanel; c += kLanes) {
        hn::Store(hn::LoadU(d, from + r * stride + c), d, to + c);
      }
    } else {
      std::memcpy(to, from + r * stride, static_cast<size_t>(columns) * sizeof(float));
      std::fill(to + columns, to + kPanel, 0.0f);
    }
  }
}

/// The reverse of LoadPanel.
inline void StorePanel(const float* panel, int64_t rows, int64_t columns, float* to,
                       int64_t stride) {
  const Tag d;
  for (int64_t r = 0; r < rows; ++r) {
    if (columns == kPanel) {
      for (int64_t c = 0; c < kPanel; c += kLanes) {
        hn::StoreU(hn::Load(d, panel + r * kPanel + c), d, to + r * stride + c);
      }
    } else {
      std::memcpy(to + r * stride, panel + r * kPanel,
                  static_cast<size_t>(columns) * sizeof(float));
    }
  }
}

/// Row r of the panel times factors[r].
inline void ScalePanelRows(float* panel, int64_t rows, const float* factors) {
  const Tag d;
  for (int64_t r = 0; r < rows; ++r) {
    const Vec factor = hn::Set(d, factors[r]);
    for (int64_t c = 0; c < kPanel; c += kLanes) {
      hn::Store(hn::Mul(factor, hn::Load(d, panel + r * kPanel + c)), d, panel + r * kPanel + c);
    }
  }
}

/// out [rows rounded up to 4, stride] = factor * from; added rows and columns are zero.
inline void LoadRows(const float* from, int64_t from_stride, int64_t rows, int64_t width,
                     float factor, float* out, int64_t stride) {
  const Tag d;
  const Vec factors = hn::Set(d, factor);
  for (int64_t r = 0; r < rows; ++r) {
    const float* const row = from + r * from_stride;
    float* const to = out + r * stride;
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      hn::Store(hn::Mul(factors, hn::LoadU(d, row + i)), d, to + i);
    }
    for (; i < width; ++i) to[i] = factor * row[i];
    for (; i < stride; ++i) to[i] = 0;
  }
  std::fill(out + rows * stride, out + RoundUp(rows, kTileRows) * stride, 0.0f);
}

/// Columns [column, column + rows) of out [width, kChunk] = transposed rows; columns up to
/// column + padded_rows are zero.
inline void TransposeRows(const float* from, int64_t from_stride, int64_t rows, int64_t padded_rows,
                          int64_t width, int64_t column, float* out) {
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  for (; r + 4 <= rows; r += 4) {
    const float* const row = from + r * from_stride;
    float* const to = out + column + r;
    int64_t i = 0;
    for (; i + 4 <= width; i += 4) {
      const auto a = hn::LoadU(d, row + i), b = hn::LoadU(d, row + from_stride + i);
      const auto e = hn::LoadU(d, row + 2 * from_stride + i);
      const auto f = hn::LoadU(d, row + 3 * from_stride + i);
      const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
      const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ef_low = hn::BitCast(pairs, hn::InterleaveLower(d, e, f));
      const auto ef_high = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
      const auto store = [&](auto quad, int64_t k) HWY_ATTR {
        hn::StoreU(hn::BitCast(d, quad), d, to + (i + k) * kChunk);
      };
      store(hn::InterleaveLower(pairs, ab_low, ef_low), 0);
      store(hn::InterleaveUpper(pairs, ab_low, ef_low), 1);
      store(hn::InterleaveLower(pairs, ab_high, ef_high), 2);
      store(hn::InterleaveUpper(pairs, ab_high, ef_high), 3);
    }
    for (; i < width; ++i) {
      for (int64_t k = 0; k < 4; ++k) to[i * kChunk + k] = row[k * from_stride + i];
    }
  }
#endif
  for (; r < padded_rows; ++r) {
    for (int64_t i = 0; i < width; ++i) {
      out[i * kChunk + column + r] = r < rows ? from[r * from_stride + i] : 0;
    }
  }
}

/// Outputs of four rows: the first `rows` of them, `columns` wide.
HWY_INLINE void StoreOutput(const Tile<>& tile, int64_t rows, int64_t columns, float* to,
                            int64_t stride) {
  if (columns == kPanel) {
    HWY_UNROLL(4)
    for (int r = 0; r < kTileRows; ++r) {
      if (r >= rows) break;
      HWY_UNROLL(4)
      for (int n = 0; n < kTileVectors; ++n) {
        hn::StoreU(tile.rows[r][n], Tag(), to + r * stride + n * kLanes);
      }
    }
  } else {
    HWY_ALIGN float buffer[kTileRows * kPanel];
    tile.Store(buffer, kPanel);
    for (int64_t r = 0; r < std::min<int64_t>(rows, kTileRows); ++r) {
      std::memcpy(to + r * stride, buffer + r * kPanel,
                  static_cast<size_t>(columns) * sizeof(float));
    }
  }
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
