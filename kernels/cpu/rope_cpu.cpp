// The rotary embedding on the processor: tokens over all cores. Sines and cosines of a token are
// made once, in double precision, and meet all its heads.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rope_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/simd-inl.h"
#include "kernels/cpu/simd_limits.h"
#include "kernels/rope.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

using DoubleTag = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<DoubleTag>;

constexpr DoubleTag kDoubles;

/// Angles up to this are reduced exactly enough by the vector code; larger ones go to the library.
constexpr float kLargestAngle = 1048576.0F;

/// sin and cos of |x| <= kLargestAngle, within 1e-10.
HWY_INLINE void SinCos(DoubleVector x, DoubleVector& sine, DoubleVector& cosine) {
  const auto set = [](double value) HWY_ATTR { return hn::Set(kDoubles, value); };
  const DoubleVector turns = hn::Round(hn::Mul(x, set(0.63661977236758134308)));
  // pi/2 in three parts; products of the first two with up to 20 bits are exact.
  DoubleVector r = hn::NegMulAdd(turns, set(1.5707963267341256), x);
  r = hn::NegMulAdd(turns, set(6.077100506303966e-11), r);
  r = hn::NegMulAdd(turns, set(2.0222662487959506e-21), r);
  const DoubleVector r2 = hn::Mul(r, r);
  DoubleVector s = set(-1.0 / 39916800);
  s = hn::MulAdd(s, r2, set(1.0 / 362880));
  s = hn::MulAdd(s, r2, set(-1.0 / 5040));
  s = hn::MulAdd(s, r2, set(1.0 / 120));
  s = hn::MulAdd(s, r2, set(-1.0 / 6));
  s = hn::MulAdd(hn::Mul(s, r2), r, r);
  DoubleVector c = set(1.0 / 479001600);
  c = hn::MulAdd(c, r2, set(-1.0 / 3628800));
  c = hn::MulAdd(c, r2, set(1.0 / 40320));
  c = hn::MulAdd(c, r2, set(-1.0 / 720));
  c = hn::MulAdd(c, r2, set(1.0 / 24));
  c = hn::MulAdd(c, r2, set(-0.5));
  c = hn::MulAdd(c, r2, set(1.0));
  // quadrant 0, 1, 2, 3: (s, c), (c, -s), (-s, -c), (-c, s)
  const DoubleVector quadrant =
      hn::NegMulAdd(hn::Floor(hn::Mul(turns, set(0.25))), set(4.0), turns);
  const auto odd = hn::Or(hn::Eq(quadrant, set(1.0)), hn::Eq(quadrant, set(3.0)));
  const auto sine_negative = hn::Ge(quadrant, set(2.0));
  const auto cosine_negative = hn::Or(hn::Eq(quadrant, set(1.0)), hn::Eq(quadrant, set(2.0)));
  const DoubleVector sine_size = hn::IfThenElse(odd, c, s);
  const DoubleVector cosine_size = hn::IfThenElse(odd, s, c);
  sine = hn::IfThenElse(sine_negative, hn::Neg(sine_size), sine_size);
  cosine = hn::IfThenElse(cosine_negative, hn::Neg(cosine_size), cosine_size);
}

/// sines[half], cosines[half] of one position, times the attention factor.
HWY_INLINE void Table(const RopeArgs& args, int64_t position, float* sines, float* cosines) {
  const hn::Rebind<float, DoubleTag> halves;
  const auto step = static_cast<int64_t>(hn::Lanes(kDoubles));
  const int64_t half = args.dims / 2;
  const auto place = static_cast<float>(position);
  const DoubleVector factor = hn::Set(kDoubles, static_cast<double>(args.attention_factor));
  for (int64_t i = 0; i < half; i += step) {
    HWY_ALIGN float angles[hn::MaxLanes(kDoubles)] = {};
    bool small = true;
    const int64_t count = half - i < step ? half - i : step;
    for (int64_t j = 0; j < count; ++j) {
      angles[j] = place * args.inverse_frequencies[i + j];
      small = small && std::fabs(angles[j]) <= kLargestAngle;
    }
    if (small) {
      DoubleVector sine;
      DoubleVector cosine;
      SinCos(hn::PromoteTo(kDoubles, hn::Load(halves, angles)), sine, cosine);
      // The tables have room for whole vectors.
      hn::StoreU(hn::DemoteTo(halves, hn::Mul(sine, factor)), halves, sines + i);
      hn::StoreU(hn::DemoteTo(halves, hn::Mul(cosine, factor)), halves, cosines + i);
    } else {
      for (int64_t j = 0; j < count; ++j) {
        const auto angle = static_cast<double>(angles[j]);
        sines[i + j] = static_cast<float>(std::sin(angle) * args.attention_factor);
        cosines[i + j] = static_cast<float>(std::cos(angle) * args.attention_factor);
      }
    }
  }
}

/// Tokens [begin, end). `table` holds 2 * table_stride floats, table_stride >= dims / 2 + lanes.
void RotateTokens(const RopeArgs& args, int64_t begin, int64_t end, float* table,
                  int64_t table_stride) {
  const int64_t half = args.dims / 2;
  const int64_t lanes = FloatLanes();
  float* sines = table;
  float* cosines = table + table_stride;
  for (int64_t t = begin; t < end; ++t) {
    Table(args, args.positions[t], sines, cosines);
    for (int64_t head = 0; head < args.heads; ++head) {
      float* first = static_cast<float*>(args.x) + t * args.x_stride + head * args.head_dim;
      float* second = first + half;
      int64_t i = 0;
      for (; i + lanes <= half; i += lanes) {
        const FloatVector s = hn::LoadU(kFloats, sines + i);
        const FloatVector c = hn::LoadU(kFloats, cosines + i);
        const FloatVector a = hn::LoadU(kFloats, first + i);
        const FloatVector b = hn::LoadU(kFloats, second + i);
        hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), kFloats, first + i);
        hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), kFloats, second + i);
      }
      if (i < half) {
        const int64_t rest = half - i;
        const FloatVector s = LoadFirst(sines + i, rest);
        const FloatVector c = LoadFirst(cosines + i, rest);
        const FloatVector a = LoadFirst(first + i, rest);
        const FloatVector b = LoadFirst(second + i, rest);
        StoreFirst(hn::NegMulAdd(b, s, hn::Mul(a, c)), first + i, rest);
        StoreFirst(hn::MulAdd(a, s, hn::Mul(b, c)), second + i, rest);
      }
    }
  }
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

namespace natsl::kernels {
HWY_EXPORT(RotateTokens);

void RunRopeCpu(const RopeArgs& args) {
  const auto rotate = HWY_DYNAMIC_DISPATCH(RotateTokens);
  // A whole vector of doubles may be stored past the last pair.
  const int64_t table_stride = args.dims / 2 + kMaxVectorFloats;
  constexpr int64_t kTokensPerItem = 4;
  const int64_t items = (args.tokens + kTokensPerItem - 1) / kTokensPerItem;
#pragma omp parallel if (args.tokens * args.heads * args.dims > 16384)
  {
    std::vector<float> table(static_cast<size_t>(2 * table_stride));
#pragma omp for schedule(static)
    for (int64_t item = 0; item < items; ++item) {
      rotate(args, item * kTokensPerItem, std::min((item + 1) * kTokensPerItem, args.tokens),
             table.data(), table_stride);
    }
  }
}

}  // namespace natsl::kernels
#endif
