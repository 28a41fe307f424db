// Vector helpers of the processor kernels: partial loads, exp, silu, reductions. Included once a
// target, inside the pattern of <hwy/foreach_target.h>; it has no ordinary include guard.
#include <hwy/highway.h>

#include <cstdint>

#if defined(NATSL_KERNELS_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NATSL_KERNELS_CPU_SIMD_INL_H_
#undef NATSL_KERNELS_CPU_SIMD_INL_H_
#else
#define NATSL_KERNELS_CPU_SIMD_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

constexpr FloatTag kFloats;

HWY_INLINE int64_t FloatLanes() { return static_cast<int64_t>(hn::Lanes(kFloats)); }

/// The first `count` (0 < count < lanes) floats at `p`, the rest 0; reads nothing beyond them.
HWY_INLINE FloatVector LoadFirst(const float* p, int64_t count) {
  return hn::MaskedLoad(hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, p);
}

/// Writes the first `count` lanes only.
HWY_INLINE void StoreFirst(FloatVector v, float* p, int64_t count) {
  hn::BlendedStore(v, hn::FirstN(kFloats, static_cast<size_t>(count)), kFloats, p);
}

HWY_INLINE float Sum(FloatVector v) { return hn::GetLane(hn::SumOfLanes(kFloats, v)); }

/// 2^n for whole n in [-127, 128]: 0 at -127, infinity at 128. NaN gives any value.
HWY_INLINE FloatVector PowerOfTwo(FloatVector n) {
  const hn::RebindToSigned<FloatTag> ints;
  const auto exponent = hn::Add(hn::ConvertTo(ints, n), hn::Set(ints, 127));
  return hn::BitCast(kFloats, hn::ShiftLeft<23>(exponent));
}

/// x between two bounds. NaN stays NaN.
HWY_INLINE FloatVector Bound(float low, FloatVector x, float high) {
#if HWY_TARGET == HWY_SCALAR  // whose Min and Max leave a NaN out
  const FloatVector above =
      hn::IfThenElse(hn::Lt(x, hn::Set(kFloats, low)), hn::Set(kFloats, low), x);
  return hn::IfThenElse(hn::Gt(above, hn::Set(kFloats, high)), hn::Set(kFloats, high), above);
#else  // Min and Max give their second operand where one is NaN
  return hn::Min(hn::Set(kFloats, high), hn::Max(hn::Set(kFloats, low), x));
#endif
}

/// 2^x, within 2 units in the last place; results below 2^-126.5 are 0. NaN stays NaN.
HWY_INLINE FloatVector Exp2(FloatVector x) {
  const FloatVector bounded = Bound(-127.0F, x, 128.0F);
  const FloatVector whole = hn::Round(bounded);
  const FloatVector f = hn::Sub(bounded, whole);
  FloatVector p = hn::Set(kFloats, 0.00015353361959569156F);
  p = hn::MulAdd(p, f, hn::Set(kFloats, 0.0013398873852565885F));
  p = hn::MulAdd(p, f, hn::Set(kFloats, 0.00961843691766262F));
  p = hn::MulAdd(p, f, hn::Set(kFloats, 0.055503323674201965F));
  p = hn::MulAdd(p, f, hn::Set(kFloats, 0.24022647738456726F));
  p = hn::MulAdd(p, f, hn::Set(kFloats, 0.6931471824645996F));
  p = hn::MulAdd(p, f, hn::Set(kFloats, 1.0F));
  return hn::Mul(p, PowerOfTwo(whole));
}

/// e^x, within 2 units in the last place; 0 below -88.0, infinity above 88.7. NaN stays NaN.
HWY_INLINE FloatVector Exp(FloatVector x) {
  const FloatVector bounded = Bound(-88.3F, x, 89.0F);
  const FloatVector whole = hn::Round(hn::Mul(bounded, hn::Set(kFloats, 1.44269504F)));
  // ln 2 in two parts, the first short enough for an exact product.
  FloatVector r = hn::NegMulAdd(whole, hn::Set(kFloats, 0.693359375F), bounded);
  r = hn::NegMulAdd(whole, hn::Set(kFloats, -0.00021219444005471377F), r);
  FloatVector p = hn::Set(kFloats, 0.0013814467238262296F);
  p = hn::MulAdd(p, r, hn::Set(kFloats, 0.008368780836462975F));
  p = hn::MulAdd(p, r, hn::Set(kFloats, 0.04166839271783829F));
  p = hn::MulAdd(p, r, hn::Set(kFloats, 0.1666651964187622F));
  p = hn::MulAdd(p, r, hn::Set(kFloats, 0.4999999403953552F));
  p = hn::MulAdd(hn::Mul(p, r), r, r);
  return hn::Mul(hn::Add(p, hn::Set(kFloats, 1.0F)), PowerOfTwo(whole));
}

/// x / (1 + e^-x).
HWY_INLINE FloatVector Silu(FloatVector x) {
  return hn::Div(x, hn::Add(hn::Set(kFloats, 1.0F), Exp(hn::Neg(x))));
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
