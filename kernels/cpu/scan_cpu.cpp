// The gated scan on the CPU: channels are independent, so a range of them runs through the tokens
// with its state in the cache. The rows are read and written once: the memory sets the pace.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/scan_cpu.cpp"
#include "core/check.h"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"
#include "kernels/cpu/mixer_exp-inl.h"
#include "kernels/cpu/mixer_partition.h"
#include "kernels/scan.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {

template <class D>
HWY_INLINE void ScanStep(D d, const float* g, const float* x, float* state, float* o) {
  const auto decay = DecayExp(d, hn::LoadU(d, g));
  const auto next = hn::MulAdd(decay, hn::LoadU(d, state), hn::LoadU(d, x));
  hn::StoreU(next, d, state);
  hn::StoreU(next, d, o);
}

void RunScanItem(const ScanArgs& args, const MixerItem& item) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> single;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t begin = item.begin * kUnitColumns;
  const int64_t end = std::min(item.end * kUnitColumns, args.channels);
  float* const state = args.states[item.sequence];
  for (int64_t t = args.offsets[item.sequence]; t < args.offsets[item.sequence + 1]; ++t) {
    const float* const x = static_cast<const float*>(args.x) + t * args.channels;
    const float* const g = args.g + t * args.channels;
    float* const o = static_cast<float*>(args.o) + t * args.channels;
    int64_t c = begin;
    for (; c + lanes <= end; c += lanes) ScanStep(d, g + c, x + c, state + c, o + c);
    for (; c < end; ++c) ScanStep(single, g + c, x + c, state + c, o + c);
  }
}

}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace natsl::kernels {

HWY_EXPORT(RunScanItem);

void RunScanCpu(const ScanArgs& args) {
  NATSL_CHECK(args.dtype == DType::kFloat32);
  const int64_t units = (args.channels + kUnitColumns - 1) / kUnitColumns;
  RunItems(PartitionMixer(args.offsets, args.sequences, 1, units, PieceLength::kAny),
           [&](const MixerItem& item) {
             HWY_DYNAMIC_DISPATCH(RunScanItem)
             (args, item);
           });
}

}  // namespace natsl::kernels
#endif  // HWY_ONCE
