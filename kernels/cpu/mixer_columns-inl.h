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

/// Calls body(tag, width, column) for blocks that cover columns [begin, end): four vectors, then
/// one, then one element at a time; `width` is the number of vectors as an integral constant.
template <typename Body>
void ForColumns(int64_t begin, int64_t end, const Body& body) {
  const hn::ScalableTag<float> vectors;
  const hn::CappedTag<float, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(vectors));
  int64_t column = begin;
  for (; column + 4 * lanes <= end; column += 4 * lanes) {
    body(vectors, std::integral_constant<int, 4>(), column);
  }
  for (; column + lanes <= end; column += lanes) {
    body(vectors, std::integral_constant<int, 1>(), column);
  }
  for (; column < end; ++column) body(single, std::integral_constant<int, 1>(), column);
}

/// out = x^T M of kVectors vectors of columns: M has `rows` rows of `stride` elements.
template <int kVectors, class D>
HWY_INLINE void ReadColumns(D d, const float* HWY_RESTRICT x, const float* HWY_RESTRICT matrix,
                            int64_t stride, int64_t rows, hn::Vec<D>* HWY_RESTRICT out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> even[kVectors], odd[kVectors];
  HWY_UNROLL(4)
  for (int n = 0; n < kVectors; ++n) even[n] = odd[n] = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 <= rows; i += 2) {
    const auto x0 = hn::Set(d, x[i]), x1 = hn::Set(d, x[i + 1]);
    const float* const row = matrix + i * stride;
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      even[n] = hn::MulAdd(x0, hn::LoadU(d, row + n * lanes), even[n]);
      odd[n] = hn::MulAdd(x1, hn::LoadU(d, row + stride + n * lanes), odd[n]);
    }
  }
  if (i < rows) {
    const auto x0 = hn::Set(d, x[i]);
    HWY_UNROLL(4)
    for (int n = 0; n < kVectors; ++n) {
      even[n] = hn::MulAdd(x0, hn::LoadU(d, matrix + i * stride + n * lanes), even[n]);
    }
  }
  HWY_UNROLL(4)
  for (int n = 0; n < kVectors; ++n) out[n] = hn::Add(even[n], odd[n]);
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
