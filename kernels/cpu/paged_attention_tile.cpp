// Attention of up to 64 columns (queries x shared heads) over their pages, in one pass with running
// maxima. Scores are held transposed, [key, column]: columns are the lanes, so that neither keys
// nor values are repacked, and maxima and sums need no step across lanes. Both products broadcast
// an element of the page against rows of 64 columns from the nearest cache.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/paged_attention_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/paged_attention_parts.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

/// A page seen as a matrix: element (row, k) is at data[row * row_step + k * depth_step].
struct PageMatrix {
  const float* data;
  int64_t row_step;
  int64_t depth_step;
};

/// target[kRows, kVectors lanes] = page rows x b, or += with target multiplied by rescale before.
template <int kRows, int kVectors, bool kAccumulate>
HWY_INLINE void Block(const PageMatrix& page, int64_t depth, const float* b, const float* rescale,
                      float* target) {
  const int64_t lanes = FloatLanes();
  FloatVector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if constexpr (kAccumulate) {
        sums[r][v] = hn::Mul(hn::Load(kFloats, target + r * kTileColumns + v * lanes),
                             hn::Load(kFloats, rescale + v * lanes));
      } else {
        sums[r][v] = hn::Zero(kFloats);
      }
    }
  }
  const float* element = page.data;
  for (int64_t k = 0; k < depth; ++k) {
    FloatVector inputs[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) inputs[v] = hn::Load(kFloats, b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const FloatVector factor = hn::Set(kFloats, element[r * page.row_step]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, inputs[v], sums[r][v]);
    }
    element += page.depth_step;
    b += kTileColumns;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], kFloats, target + r * kTileColumns + v * lanes);
    }
  }
}

template <int kVectors, bool kAccumulate>
HWY_INLINE void Strip(const PageMatrix& page, int64_t rows, int64_t depth, const float* b,
                      const float* rescale, float* target) {
  // 8 x 2 sums leave AVX-512 registers for the inputs; AVX2 has half as many.
  constexpr int kRows = HWY_MAX_BYTES >= 64 ? 8 : 4;
  int64_t row = 0;
  const auto run = [&]<int kCount>() HWY_ATTR {
    const PageMatrix part = {page.data + row * page.row_step, page.row_step, page.depth_step};
    Block<kCount, kVectors, kAccumulate>(part, depth, b, rescale, target + row * kTileColumns);
    row += kCount;
  };
  while (row + kRows <= rows) run.template operator()<kRows>();
  if (kRows > 4 && row + 4 <= rows) run.template operator()<4>();
  if (row + 2 <= rows) run.template operator()<2>();
  if (row < rows) run.template operator()<1>();
}

/// target[rows, columns] = page[rows, depth] x b[depth, columns], or += (see Block). `columns` is a
/// multiple of the lanes.
template <bool kAccumulate>
HWY_INLINE void Product(const PageMatrix& page, int64_t rows, int64_t depth, int64_t columns,
                        const float* b, const float* rescale, float* target) {
  const int64_t lanes = FloatLanes();
  int64_t c = 0;
  for (; c + 2 * lanes <= columns; c += 2 * lanes) {
    Strip<2, kAccumulate>(page, rows, depth, b + c, rescale + c, target + c);
  }
  if (c < columns) Strip<1, kAccumulate>(page, rows, depth, b + c, rescale + c, target + c);
}

/// The buffers of a tile: rows of kTileColumns floats.
struct Buffers {
  float* queries;    // [key_dim]
  float* scores;     // [keys], then the weights
  float* output;     // [value_dim], unnormalised
  float* highest;    // [1]
  float* total;      // [1]
  float* rescale;    // [1]
  float* first_key;  // [1], of the column, counted from the page's first
  float* last_key;   // [1]
};

/// Scores of a page become weights; maxima, totals and rescale follow. Keys outside
/// [first_key, last_key] get weight 0 if `masked`.
HWY_INLINE void Weigh(const Buffers& buffers, int64_t keys, int64_t columns, bool masked) {
  const int64_t lanes = FloatLanes();
  for (int64_t c = 0; c < columns; c += lanes) {
    float* scores = buffers.scores + c;
    const FloatVector before = hn::Load(kFloats, buffers.highest + c);
    FloatVector highest = before;
    if (masked) {
      const FloatVector first = hn::Load(kFloats, buffers.first_key + c);
      const FloatVector last = hn::Load(kFloats, buffers.last_key + c);
      const FloatVector hidden = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
      for (int64_t j = 0; j < keys; ++j) {
        const FloatVector key = hn::Set(kFloats, static_cast<float>(j));
        const auto visible = hn::And(hn::Ge(key, first), hn::Le(key, last));
        const FloatVector score =
            hn::IfThenElse(visible, hn::Load(kFloats, scores + j * kTileColumns), hidden);
        hn::Store(score, kFloats, scores + j * kTileColumns);
        highest = hn::Max(highest, score);
      }
    } else {
      for (int64_t j = 0; j < keys; ++j) {
        highest = hn::Max(highest, hn::Load(kFloats, scores + j * kTileColumns));
      }
    }
    const FloatVector rescale = Exp2(hn::Sub(before, highest));
    FloatVector total = hn::Mul(hn::Load(kFloats, buffers.total + c), rescale);
    for (int64_t j = 0; j < keys; ++j) {
      const FloatVector weight =
          Exp2(hn::Sub(hn::Load(kFloats, scores + j * kTileColumns), highest));
      hn::Store(weight, kFloats, scores + j * kTileColumns);
      total = hn::Add(total, weight);
    }
    hn::Store(highest, kFloats, buffers.highest + c);
    hn::Store(total, kFloats, buffers.total + c);
    hn::Store(rescale, kFloats, buffers.rescale + c);
  }
}

/// A tile's place in its block.
struct Geometry {
  Geometry(const PagedAttentionArgs& args, const AttentionTile& tile)
      : shared(SharedHeads(args)),
        head(FirstQueryHead(args, *tile.block, tile.kv_head)),
        first_query(tile.first_column / shared),
        last_query((tile.first_column + tile.columns - 1) / shared),
        window(args.window) {}

  /// Query (in the block) and query head of a column of the tile.
  int64_t Query(const AttentionTile& tile, int64_t column) const {
    return (tile.first_column + column) / shared;
  }
  int64_t Head(const AttentionTile& tile, int64_t column) const {
    return head + (tile.first_column + column) % shared;
  }
  /// The first key that a query sees.
  int64_t FirstKey(const AttentionBlock& block, int64_t query) const {
    return window > 0 ? std::max<int64_t>(0, block.first_key + query - window + 1) : 0;
  }

  int64_t shared, head, first_query, last_query, window;
};

/// queries[key_dim, columns] of the tile, times scale * log2(e); unused columns are 0.
void PackQueries(const PagedAttentionArgs& args, const AttentionTile& tile,
                 const Geometry& geometry, float* queries) {
  const auto factor = static_cast<float>(args.scale * 1.4426950408889634);
  for (int64_t c = 0; c < kTileColumns; ++c) {
    if (c >= tile.columns) {
      for (int64_t d = 0; d < args.key_dim; ++d) queries[d * kTileColumns + c] = 0;
      continue;
    }
    const float* q = static_cast<const float*>(args.q) +
                     (tile.block->query_row + geometry.Query(tile, c)) * args.q_stride +
                     geometry.Head(tile, c) * args.key_dim;
    for (int64_t d = 0; d < args.key_dim; ++d) queries[d * kTileColumns + c] = q[d] * factor;
  }
}

void WriteOutput(const PagedAttentionArgs& args, const AttentionTile& tile,
                 const Geometry& geometry, const Buffers& buffers) {
  for (int64_t c = 0; c < tile.columns; ++c) {
    float* o = static_cast<float*>(args.o) +
               (tile.block->query_row + geometry.Query(tile, c)) * args.o_stride +
               geometry.Head(tile, c) * args.value_dim;
    const float factor = 1.0F / buffers.total[c];
    for (int64_t d = 0; d < args.value_dim; ++d) {
      o[d] = buffers.output[d * kTileColumns + c] * factor;
    }
  }
}

void RunTile(const PagedAttentionArgs& args, const AttentionTile& tile, float* scratch) {
  const AttentionBlock& block = *tile.block;
  const Geometry geometry(args, tile);
  Buffers buffers;
  const auto take = [&](int64_t rows) {
    float* taken = scratch;
    scratch += rows * kTileColumns;
    return taken;
  };
  buffers.queries = take(args.key_dim);
  buffers.scores = take(kPageTokens);
  buffers.output = take(args.value_dim);
  buffers.highest = take(1);
  buffers.total = take(1);
  buffers.rescale = take(1);
  buffers.first_key = take(1);
  buffers.last_key = take(1);

  PackQueries(args, tile, geometry, buffers.queries);
  std::fill_n(buffers.output, args.value_dim * kTileColumns, 0.0F);
  std::fill_n(buffers.highest, kTileColumns, std::numeric_limits<float>::lowest());
  std::fill_n(buffers.total, kTileColumns, 0.0F);

  const int64_t lanes = FloatLanes();
  const int64_t columns = (tile.columns + lanes - 1) / lanes * lanes;
  const int64_t end_key = block.first_key + geometry.last_query + 1;
  const int64_t first_page = geometry.FirstKey(block, geometry.first_query) / kPageTokens;
  for (int64_t page = first_page; page * kPageTokens < end_key; ++page) {
    const int64_t start = page * kPageTokens;
    const int64_t keys = std::min(kPageTokens, end_key - start);
    const bool masked = start + keys - 1 > block.first_key + geometry.first_query ||
                        start < geometry.FirstKey(block, geometry.last_query);
    if (masked) {
      for (int64_t c = 0; c < kTileColumns; ++c) {
        const int64_t query = geometry.Query(tile, std::min(c, tile.columns - 1));
        const auto clamp = [&](int64_t key) {
          return static_cast<float>(std::clamp<int64_t>(key - start, -1, kPageTokens));
        };
        buffers.first_key[c] = clamp(geometry.FirstKey(block, query));
        buffers.last_key[c] = clamp(block.first_key + query);
      }
    }
    const auto* k = static_cast<const float*>(block.key_pages[page]) +
                    tile.kv_head * kPageTokens * args.key_dim;
    const auto* v = static_cast<const float*>(block.value_pages[page]) +
                    tile.kv_head * kPageTokens * args.value_dim;
    Product<false>({k, args.key_dim, 1}, keys, args.key_dim, columns, buffers.queries,
                   buffers.rescale, buffers.scores);
    Weigh(buffers, keys, columns, masked);
    Product<true>({v, 1, args.value_dim}, args.value_dim, keys, columns, buffers.scores,
                  buffers.rescale, buffers.output);
  }
  WriteOutput(args, tile, geometry, buffers);
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {
HWY_EXPORT(RunTile);

void AttendTile(const PagedAttentionArgs& args, const AttentionTile& tile, float* scratch) {
  HWY_DYNAMIC_DISPATCH(RunTile)(args, tile, scratch);
}

}  // namespace natsl::kernels
#endif
