// Column blocks of a row-major matrix for the running Highway target.
#if defined(NATSL_KERNELS_CPU_MIXER_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NATSL_KERNELS_CPU_MIXER_COLUMNS_INL_H_
#undef NATSL_KERNELS_CPU_MIXER_COLUMNS_INL_H_
#else
#define NATSL_KERNELS_CPU_MIXER_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Rows of floats in memory, `stride` floats apart.
struct Cells {
  float* first;
  int64_t stride;
};

/// Rows of a run: a block of columns stays in a panel of the first-level cache for so long.
constexpr int64_t kRunRows = 64;

/// Vectors of columns, at most `most`, whose panel of `rows` rows fits the first-level cache beside
/// what streams through it.
inline int64_t PanelVectors(int64_t rows, int64_t most) {
  constexpr int64_t kPanelBytes = 32 << 10;
  const hn::ScalableTag<float> d;
  const int64_t bytes = rows * static_cast<int64_t>(hn::Lanes(d) * sizeof(float));
  while (most > 1 && most * bytes > kPanelBytes) most /= 2;
  return most;
}

/// Floats of a panel of `rows` rows of `vectors` vectors.
inline int64_t PanelSize(int64_t rows, int64_t vectors) {
  const hn::ScalableTag<float> d;
  return rows * vectors * static_cast<int64_t>(hn::Lanes(d));
}

/// Calls body(tag, width, column) for the blocks of kVectors vectors from `column` on that end at
/// `end` or before, where `most` allows that width; returns where they end.
template <int kVectors, class D, typename Body>
int64_t ForBlocks(D d, int64_t column, int64_t end, int64_t most, const Body& body) {
  const int64_t width = kVectors * static_cast<int64_t>(hn::Lanes(d));
  if (kVectors > most) return column;
  for (; column + width <= end; column += width) {
    body(d, std::integral_constant<int, kVectors>(), column);
  }
  return column;
}

/// Calls body(tag, width, column) for blocks that cover columns [begin, end): of at most kWidest
/// and `most` vectors, then of fewer, then of one element at a time; `width` is the number of
/// vectors as an integral constant.
template <int kWidest, typename Body>
void ForColumns(int64_t begin, int64_t end, int64_t most, const Body& body) {
  const hn::ScalableTag<float> vectors;
  const hn::CappedTag<float, 1> single;
  int64_t column = begin;
  if constexpr (kWidest >= 8) column = ForBlocks<8>(vectors, column, end, most, body);
  if constexpr (kWidest >= 4) column = ForBlocks<4>(vectors, column, end, most, body);
  column = ForBlocks<2>(vectors, column, end, most, body);
  column = ForBlocks<1>(vectors, column, end, most, body);
  ForBlocks<1>(single, column, end, 1, body);
}

/// Rows [begin, end) of the block that a thread takes up next, fetched during a pass over the
/// present one: memory is read while the processor computes.
struct NextBlock {
  const float* first;
  int64_t stride, begin, end;

  /// Those of pass `pass` of `passes` over `rows` rows.
  NextBlock(const float* first_row, int64_t row_stride, int64_t rows, int64_t pass, int64_t passes)
      : first(first_row),
        stride(row_stride),
        begin(rows * pass / passes),
        end(rows * (pass + 1) / passes) {}
};

/// What a thread takes up after the block at `column` of columns [begin, end) of a head's state:
/// the columns beside it or the first of the next head, whose state lies `size` floats further.
template <int kVectors, class D>
const float* NextColumns(D d, const float* state, int64_t column, int64_t begin, int64_t end,
                         int64_t size) {
  const int64_t next = column + kVectors * static_cast<int64_t>(hn::Lanes(d));
  return state + (next < end ? next : size + begin);
}

/// Prefetches row `i`, a row of kVectors vectors.
template <int kVectors, class D>
HWY_INLINE void Prefetch(D d, const NextBlock& next, int64_t i) {
  if (i < next.begin || i >= next.end) return;
  constexpr int64_t kLineFloats = 16;
  constexpr int kSecondLevelCache = 2;
  const int64_t width = kVectors * static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = 0; n < width; n += kLineFloats) {
    __builtin_prefetch(next.first + i * next.stride + n, 0, kSecondLevelCache);
  }
}

/// out = x^T M of kVectors vectors of columns: M is the `rows` rows of `from`. With kCopy these
/// rows go to `copy` too.
template <int kVectors, bool kCopy, class D>
HWY_INLINE void ReadColumns(D d, const float* HWY_RESTRICT x, const Cells& from, const Cells& copy,
                            int64_t rows, hn::Vec<D>* HWY_RESTRICT out) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V even[kVectors], odd[kVectors];
  HWY_UNROLL(8)
  for (int n = 0; n < kVectors; ++n) even[n] = odd[n] = hn::Zero(d);
  const auto add = [&](int64_t i, V* HWY_RESTRICT sum) HWY_ATTR {
    const V factor = hn::Set(d, x[i]);
    const float* const row = from.first + i * from.stride;
    HWY_UNROLL(8)
    for (int n = 0; n < kVectors; ++n) {
      const V cell = hn::LoadU(d, row + n * lanes);
      if constexpr (kCopy) hn::StoreU(cell, d, copy.first + i * copy.stride + n * lanes);
      sum[n] = hn::MulAdd(factor, cell, sum[n]);
    }
  };
  int64_t i = 0;
  for (; i + 2 <= rows; i += 2) {
    add(i, even);
    add(i + 1, odd);
  }
  if (i < rows) add(i, even);
  HWY_UNROLL(8)
  for (int n = 0; n < kVectors; ++n) out[n] = hn::Add(even[n], odd[n]);
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
