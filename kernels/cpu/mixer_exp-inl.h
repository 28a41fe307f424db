// Exponentials of whole arrays for the running Highway target.
#if defined(NATSL_KERNELS_CPU_MIXER_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NATSL_KERNELS_CPU_MIXER_EXP_INL_H_
#undef NATSL_KERNELS_CPU_MIXER_EXP_INL_H_
#else
#define NATSL_KERNELS_CPU_MIXER_EXP_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// exp of values <= 0 (any size: below -87 the result is 0). The bound comes first because the
/// vector routine converts its argument to an integer.
template <class D>
HWY_INLINE hn::Vec<D> DecayExp(D d, hn::Vec<D> x) {
  const auto floor = hn::Set(d, -87.0f);
  return hn::IfThenZeroElse(hn::Lt(x, floor), hn::CallExp(d, hn::Max(x, floor)));
}

/// out[i] = exp(x[i]), x <= 0.
inline void ExpArray(const float* x, int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(DecayExp(d, hn::LoadU(d, x + i)), d, out + i);
  for (; i < count; ++i) hn::StoreU(DecayExp(single, hn::LoadU(single, x + i)), single, out + i);
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
