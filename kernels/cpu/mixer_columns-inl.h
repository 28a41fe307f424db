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

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Rows of floats in memory: `stride` floats apart. Those outside the first-level cache are
/// prefetched some rows ahead: the hardware doesn't follow a narrow block of a wide matrix.
struct Cells {
  float* first;
  int64_t stride;
  bool prefetch;
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

/// Prefetches what lies some rows below `cell`, a row of kVectors vectors.
template <int kVectors, class D>
HWY_INLINE void PrefetchBelow(D d, const float* cell, int64_t stride) {
  constexpr int64_t kAhead = 8;
  constexpr int64_t kLineFloats = 16;
  const int64_t width = kVectors * static_cast<int64_t>(hn::Lanes(d));
  for (int64_t n = 0; n < width; n += kLineFloats) hwy::Prefetch(cell + kAhead * stride + n);
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
    if (from.prefetch) PrefetchBelow<kVectors>(d, row, from.stride);
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
