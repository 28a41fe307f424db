// The short convolution on the processor: blocks of channels x tokens over all cores, row by row,
// so that memory is read in order and a row's predecessors are still in the cache. Every output is
// the same sum in the same order wherever a sequence is split.
#include "kernels/cpu/mixer_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/short_conv_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd-inl.h"
#include "kernels/short_conv.h"

HWY_BEFORE_NAMESPACE();
namespace natsl::kernels::HWY_NAMESPACE {
namespace {

/// taps[j * stride + i] = weight[i, j]: a row of taps meets a row of inputs.
HWY_INLINE void Transpose(const float* weight, int64_t channels, int64_t width, float* taps,
                          int64_t stride) {
  int64_t i = 0;
  if (width == 4) {
    const int64_t lanes = FloatLanes();
    for (; i + lanes <= channels; i += lanes) {
      FloatVector columns[4];
      hn::LoadInterleaved4(kFloats, weight + i * 4, columns[0], columns[1], columns[2], columns[3]);
      for (int j = 0; j < 4; ++j) hn::StoreU(columns[j], kFloats, taps + j * stride + i);
    }
  }
  for (; i < channels; ++i) {
    for (int64_t j = 0; j < width; ++j) taps[j * stride + i] = weight[i * width + j];
  }
}

/// One output row of `channels`: the inputs of its window are rows[0 .. width - 1], oldest first.
/// kWidth is the width, or 0 for any.
template <int kWidth>
HWY_INLINE void FilterRow(const float* const* rows, const float* taps, int64_t stride, int64_t any,
                          const float* bias, bool silu, int64_t channels, float* y) {
  const int64_t lanes = FloatLanes();
  const int64_t width = kWidth > 0 ? kWidth : any;
  const auto filter = [&](const auto& load) HWY_ATTR {
    FloatVector sum = bias != nullptr ? load(bias) : hn::Zero(kFloats);
#pragma GCC unroll 4
    for (int64_t j = 0; j < width; ++j)
      sum = hn::MulAdd(load(taps + j * stride), load(rows[j]), sum);
    return silu ? Silu(sum) : sum;
  };
  int64_t i = 0;
  for (; i + lanes <= channels; i += lanes) {
    const auto load = [&](const float* p) HWY_ATTR { return hn::LoadU(kFloats, p + i); };
    hn::StoreU(filter(load), kFloats, y + i);
  }
  if (i < channels) {
    const auto load = [&](const float* p) HWY_ATTR { return LoadFirst(p + i, channels - i); };
    StoreFirst(filter(load), y + i, channels - i);
  }
}

/// Channels [begin, end) of tokens [first, last) of a sequence. `taps`: width rows of end - begin
/// floats; `rows`: width pointers.
void FilterBlock(const ShortConvArgs& args, int64_t sequence, int64_t first, int64_t last,
                 int64_t begin, int64_t end, float* taps, const float** rows) {
  const int64_t channels = end - begin;
  const int64_t history = args.width - 1;
  const int64_t offset = args.offsets[sequence];
  const float* x = static_cast<const float*>(args.x) + offset * args.x_stride + begin;
  float* y = static_cast<float*>(args.y) + offset * args.y_stride + begin;
  const float* tail = history > 0 ? args.tails[sequence] + begin : nullptr;
  const float* bias = args.bias != nullptr ? args.bias + begin : nullptr;
  const bool silu = args.activation == ActivationKind::kSilu;
  Transpose(args.weight + begin * args.width, channels, args.width, taps, channels);
  for (int64_t t = first; t < last; ++t) {
    for (int64_t j = 0; j < args.width; ++j) {
      const int64_t source = t - history + j;
      rows[j] = source < 0 ? tail + (source + history) * args.channels : x + source * args.x_stride;
    }
    float* target = y + t * args.y_stride;
    if (args.width == 4) {
      FilterRow<4>(rows, taps, channels, 4, bias, silu, channels, target);
    } else {
      FilterRow<0>(rows, taps, channels, args.width, bias, silu, channels, target);
    }
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
    std::vector<float> taps(static_cast<size_t>(args.width * kChannelsPerItem));
    std::vector<const float*> rows(static_cast<size_t>(args.width));
#pragma omp for schedule(static)
    for (int64_t i = 0; i < count; ++i) {
      const Item& item = items[static_cast<size_t>(i)];
      filter(args, item.sequence, item.first, item.last, item.channel,
             std::min(item.channel + kChannelsPerItem, args.channels), taps.data(), rows.data());
    }
  }
  UpdateTails(args);
}

}  // namespace natsl::kernels
#endif
