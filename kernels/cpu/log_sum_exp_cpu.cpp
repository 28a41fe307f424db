// log_sum_exp on the processor: a row is read twice, for its largest value and for the sum, which
// leaves float32 every few vectors so that long rows lose nothing.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/log_sum_exp_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/simd-inl.h"
#include "kernels/log_sum_exp.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

void RunLogSumExpRow(const float* row, int64_t width, int64_t* argmax, double* log_sum) {
  const int64_t lanes = FloatLanes();
  FloatVector largest = hn::Set(kFloats, row[0]);
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    largest = hn::Max(largest, hn::LoadU(kFloats, row + i));
  }
  float top = hn::GetLane(hn::MaxOfLanes(kFloats, largest));
  for (; i < width; ++i) top = std::max(top, row[i]);
  // A NaN may have hidden the largest value: the sum is NaN then, and any place will do.
  const float* const place = std::find(row, row + width, top);
  *argmax = place == row + width ? 0 : place - row;

  constexpr int64_t kVectorsAtOnce = 32;
  const FloatVector base = hn::Set(kFloats, top);
  double sum = 0;
  for (i = 0; i + lanes <= width;) {
    const int64_t end = std::min(width - lanes, i + (kVectorsAtOnce - 1) * lanes);
    FloatVector part = hn::Zero(kFloats);
    for (; i <= end; i += lanes) {
      part = hn::Add(part, Exp(hn::Sub(hn::LoadU(kFloats, row + i), base)));
    }
    sum += static_cast<double>(Sum(part));
  }
  for (; i < width; ++i) sum += static_cast<double>(std::exp(row[i] - top));
  *log_sum = static_cast<double>(top) + std::log(sum);
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunLogSumExpRow);

void RunLogSumExpCpu(const LogSumExpArgs& args) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < args.rows; ++r) {
    HWY_DYNAMIC_DISPATCH(RunLogSumExpRow)
    (args.x + r * args.x_stride, args.width, args.argmax + r, args.log_sum + r);
  }
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
