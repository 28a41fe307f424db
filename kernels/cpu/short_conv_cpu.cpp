// The short convolution on the processor: blocks of channels x tokens over all cores. Every output
// is the same sum in the same order wherever a sequence is split.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/short_conv_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd-inl.h"
#include "kernels/cpu/simd_limits.h"
#include "kernels/short_conv.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

/// Tokens [begin, end) of a sequence, channels [channel, channel + count) with count <= lanes.
/// `taps`: the weights of the channels, [width, lanes].
HWY_INLINE void Filter(const ShortConvArgs& args, int64_t sequence, int64_t begin, int64_t end,
                       int64_t channel, int64_t count, const float* taps) {
  const int64_t lanes = FloatLanes();
  const int64_t first = args.offsets[sequence];
  const float* x = static_cast<const float*>(args.x) + first * args.x_stride + channel;
  float* y = static_cast<float*>(args.y) + first * args.y_stride + channel;
  const int64_t history = args.width - 1;
  const float* tail = history > 0 ? args.tails[sequence] + channel : nullptr;
  const bool whole = count == lanes;
  const auto load = [&](const float* p)
                        HWY_ATTR { return whole ? hn::LoadU(kFloats, p) : LoadFirst(p, count); };
  const FloatVector bias = args.bias != nullptr ? load(args.bias + channel) : hn::Zero(kFloats);
  for (int64_t t = begin; t < end; ++t) {
    FloatVector sum = bias;
    for (int64_t j = 0; j < args.width; ++j) {
      const int64_t source = t - history + j;
      const float* input =
          source < 0 ? tail + (source + history) * args.channels : x + source * args.x_stride;
      sum = hn::MulAdd(hn::LoadU(kFloats, taps + j * lanes), load(input), sum);
    }
    if (args.activation == ActivationKind::kSilu) sum = Silu(sum);
    if (whole) {
      hn::StoreU(sum, kFloats, y + t * args.y_stride);
    } else {
      StoreFirst(sum, y + t * args.y_stride, count);
    }
  }
}

/// Channels [begin, end) of tokens [first, last) of a sequence. `taps`: room for width whole
/// vectors.
void FilterBlock(const ShortConvArgs& args, int64_t sequence, int64_t first, int64_t last,
                 int64_t begin, int64_t end, float* taps) {
  const int64_t lanes = FloatLanes();
  for (int64_t channel = begin; channel < end; channel += lanes) {
    const int64_t count = end - channel < lanes ? end - channel : lanes;
    for (int64_t j = 0; j < args.width; ++j) {
      for (int64_t i = 0; i < lanes; ++i) {
        taps[j * lanes + i] = i < count ? args.weight[(channel + i) * args.width + j] : 0.0F;
      }
    }
    Filter(args, sequence, first, last, channel, count, taps);
  }
}

}  // namespace
}  // namespace natsl::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>
#include <vector>

namespace natsl::kernels {
HWY_EXPORT(FilterBlock);
namespace {

constexpr int64_t kTokensPerItem = 128;
constexpr int64_t kChannelsPerItem = 512;

struct Item {
  int64_t sequence, first, last, channel;
};

/// The last width - 1 inputs of every sequence, of its old tail and its rows, become its tail.
void UpdateTails(const ShortConvArgs& args) {
  const int64_t history = args.width - 1;
  const auto bytes = static_cast<size_t>(args.channels) * sizeof(float);
  for (int64_t s = 0; s < args.sequences; ++s) {
    const int64_t tokens = args.offsets[s + 1] - args.offsets[s];
    if (tokens == 0) continue;
    // Oldest first: a row of the old tail is read before it is overwritten.
    for (int64_t j = 0; j < history; ++j) {
      const int64_t source = tokens - history + j;
      const float* from = source < 0 ? args.tails[s] + (source + history) * args.channels
                                     : static_cast<const float*>(args.x) +
                                           (args.offsets[s] + source) * args.x_stride;
      std::memcpy(args.tails[s] + j * args.channels, from, bytes);
    }
  }
}

}  // namespace

void RunShortConvCpu(const ShortConvArgs& args) {
  std::vector<Item> items;
  for (int64_t s = 0; s < args.sequences; ++s) {
    const int64_t tokens = args.offsets[s + 1] - args.offsets[s];
    for (int64_t first = 0; first < tokens; first += kTokensPerItem) {
      for (int64_t channel = 0; channel < args.channels; channel += kChannelsPerItem) {
        items.push_back({s, first, std::min(first + kTokensPerItem, tokens), channel});
      }
    }
  }
  const auto count = static_cast<int64_t>(items.size());
  const auto filter = HWY_DYNAMIC_DISPATCH(FilterBlock);
#pragma omp parallel if (count > 8)
  {
    std::vector<float> taps(static_cast<size_t>(args.width * kMaxVectorFloats));
#pragma omp for schedule(static)
    for (int64_t i = 0; i < count; ++i) {
      const Item& item = items[static_cast<size_t>(i)];
      filter(args, item.sequence, item.first, item.last, item.channel,
             std::min(item.channel + kChannelsPerItem, args.channels), taps.data());
    }
  }
  UpdateTails(args);
}

}  // namespace natsl::kernels
#endif
