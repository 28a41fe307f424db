// The norms on the processor: (row, group) units over all cores, each in one pass over its inputs
// and one over a buffer in the cache.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "kernels/cpu/simd-inl.h"
#include "kernels/norm.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

/// A place in a row: the index of its first lane and how many lanes are in the row (0: all).
struct Place {
  int64_t index;
  int64_t partial;
};

HWY_INLINE FloatVector Read(const float* p, Place place) {
  return place.partial == 0 ? hn::LoadU(kFloats, p + place.index)
                            : LoadFirst(p + place.index, place.partial);
}

HWY_INLINE void Write(FloatVector v, float* p, Place place) {
  if (place.partial == 0) {
    hn::StoreU(v, kFloats, p + place.index);
  } else {
    StoreFirst(v, p + place.index, place.partial);
  }
}

/// Calls body(place) for every vector of a row of `width`.
template <typename Body>
HWY_INLINE void ForEachVector(int64_t width, const Body& body) {
  const int64_t lanes = FloatLanes();
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) body(Place{i, 0});
  if (i < width) body(Place{i, width - i});
}

template <bool kSquares>
HWY_INLINE float Total(const float* values, int64_t width, float shift) {
  // Two sums hide the latency of the additions; partial vectors leave the lanes outside at 0.
  FloatVector sums[2] = {hn::Zero(kFloats), hn::Zero(kFloats)};
  const FloatVector shifts = hn::Set(kFloats, shift);
  const int64_t lanes = FloatLanes();
  const auto add = [&](FloatVector v, FloatVector& sum)
                       HWY_ATTR { sum = kSquares ? hn::MulAdd(v, v, sum) : hn::Add(sum, v); };
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    add(hn::Sub(hn::LoadU(kFloats, values + i), shifts), sums[0]);
    add(hn::Sub(hn::LoadU(kFloats, values + i + lanes), shifts), sums[1]);
  }
  if (i + lanes <= width) {
    add(hn::Sub(hn::LoadU(kFloats, values + i), shifts), sums[0]);
    i += lanes;
  }
  if (i < width) {
    const auto inside = hn::FirstN(kFloats, static_cast<size_t>(width - i));
    const FloatVector v = hn::Sub(LoadFirst(values + i, width - i), shifts);
    add(hn::IfThenElseZero(inside, v), sums[1]);
  }
  return Sum(hn::Add(sums[0], sums[1]));
}

/// One group of one row. `values` holds `width` floats.
HWY_INLINE void NormUnit(const NormArgs& args, int64_t row, int64_t group, float* values) {
  const int64_t start = group * args.width;
  const float* x = static_cast<const float*>(args.x) + row * args.x_stride + start;
  const float* residual = static_cast<const float*>(args.residual);
  if (residual != nullptr) residual += row * args.residual_stride + start;
  const float* gate = static_cast<const float*>(args.gate);
  if (gate != nullptr) gate += row * args.gate_stride + start;
  float* sum = static_cast<float*>(args.sum);
  if (sum != nullptr) sum += row * args.groups * args.width + start;
  float* y = static_cast<float*>(args.y) + row * args.y_stride + start;
  const bool gate_first = gate != nullptr && args.gate_order == GateOrder::kGateFirst;
  const bool gate_last = gate != nullptr && !gate_first;

  ForEachVector(args.width, [&](Place place) HWY_ATTR {
    FloatVector v = Read(x, place);
    if (residual != nullptr) v = hn::Add(v, Read(residual, place));
    if (sum != nullptr) Write(v, sum, place);
    if (gate_first) v = hn::Mul(v, Silu(Read(gate, place)));
    Write(v, values, place);
  });

  const auto width = static_cast<float>(args.width);
  const auto eps = static_cast<float>(args.eps);
  float shift = 0;
  float factor = 1;
  switch (args.op) {
    case NormOp::kRms:
    case NormOp::kRmsOnePlus:
      factor = 1.0F / std::sqrt(Total<true>(values, args.width, 0) / width + eps);
      break;
    case NormOp::kLayer:
      shift = Total<false>(values, args.width, 0) / width;
      factor = 1.0F / std::sqrt(Total<true>(values, args.width, shift) / width + eps);
      break;
    case NormOp::kL2:
      factor = 1.0F / std::sqrt(Total<true>(values, args.width, 0) + eps);
      break;
    case NormOp::kSum:
      factor = 1.0F / Total<false>(values, args.width, 0);
      break;
  }

  const FloatVector shifts = hn::Set(kFloats, shift);
  const FloatVector factors = hn::Set(kFloats, factor);
  const FloatVector scales = hn::Set(kFloats, static_cast<float>(args.scale));
  const FloatVector added = hn::Set(kFloats, args.op == NormOp::kRmsOnePlus ? 1.0F : 0.0F);
  const int64_t parameters = args.weight_per_group ? start : 0;
  const float* weight = args.weight != nullptr ? args.weight + parameters : nullptr;
  const float* bias = args.bias != nullptr ? args.bias + parameters : nullptr;
  ForEachVector(args.width, [&](Place place) HWY_ATTR {
    FloatVector v = hn::Mul(hn::Sub(Read(values, place), shifts), factors);
    if (weight != nullptr) v = hn::Mul(v, hn::Add(Read(weight, place), added));
    if (bias != nullptr) v = hn::Add(v, Read(bias, place));
    if (gate_last) v = hn::Mul(v, Silu(Read(gate, place)));
    Write(hn::Mul(v, scales), y, place);
  });
}

/// Units [begin, end) of rows * groups.
void NormUnits(const NormArgs& args, int64_t begin, int64_t end, float* values) {
  for (int64_t unit = begin; unit < end; ++unit) {
    NormUnit(args, unit / args.groups, unit % args.groups, values);
  }
}

void MergeNormUnits(const MergeNormArgs& args, int64_t begin, int64_t end) {
  const auto inverse_rms = [&](const float* values) HWY_ATTR {
    return 1.0F / std::sqrt(Total<true>(values, args.width, 0) / static_cast<float>(args.width) +
                            static_cast<float>(args.eps));
  };
  for (int64_t unit = begin; unit < end; ++unit) {
    const float* delta = static_cast<const float*>(args.delta) + unit * args.width;
    const float* attention = static_cast<const float*>(args.attention) + unit * args.width;
    const float* gate = static_cast<const float*>(args.gate) +
                        unit / args.groups * args.gate_stride + unit % args.groups * args.width;
    float* y = static_cast<float*>(args.y) + unit * args.width;
    const FloatVector delta_factor = hn::Set(kFloats, args.mix[unit * 2] * inverse_rms(delta));
    const FloatVector attention_factor =
        hn::Set(kFloats, args.mix[unit * 2 + 1] * inverse_rms(attention));
    ForEachVector(args.width, [&](Place place) HWY_ATTR {
      const FloatVector first =
          hn::Mul(hn::Mul(Read(delta, place), delta_factor), Read(args.delta_weight, place));
      const FloatVector second = hn::Mul(hn::Mul(Read(attention, place), attention_factor),
                                         Read(args.attention_weight, place));
      Write(hn::Mul(hn::Add(first, second), Silu(Read(gate, place))), y, place);
    });
  }
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

namespace natsl::kernels {
HWY_EXPORT(NormUnits);
HWY_EXPORT(MergeNormUnits);
namespace {

/// Units of a work item: about 8,000 elements.
int64_t UnitsPerItem(int64_t width) { return std::max<int64_t>(1, 8192 / width); }

}  // namespace

void RunNormCpu(const NormArgs& args) {
  const auto run = HWY_DYNAMIC_DISPATCH(NormUnits);
  const int64_t units = args.rows * args.groups;
  const int64_t per_item = UnitsPerItem(args.width);
  const int64_t items = (units + per_item - 1) / per_item;
#pragma omp parallel if (items > 2)
  {
    std::vector<float> values(static_cast<size_t>(args.width));
#pragma omp for schedule(static)
    for (int64_t item = 0; item < items; ++item) {
      run(args, item * per_item, std::min((item + 1) * per_item, units), values.data());
    }
  }
}

void RunMergeNormCpu(const MergeNormArgs& args) {
  const auto run = HWY_DYNAMIC_DISPATCH(MergeNormUnits);
  const int64_t units = args.rows * args.groups;
  const int64_t per_item = UnitsPerItem(args.width);
  const int64_t items = (units + per_item - 1) / per_item;
#pragma omp parallel for schedule(static) if (items > 2)
  for (int64_t item = 0; item < items; ++item) {
    run(args, item * per_item, std::min((item + 1) * per_item, units));
  }
}

}  // namespace natsl::kernels
#endif
