// The short convolution on the processor: channels over all cores.
#include <cmath>
#include <vector>

#include "kernels/short_conv.h"

namespace natsl::kernels {

void RunShortConvCpu(const ShortConvArgs& args) {
  const auto* x = static_cast<const float*>(args.x);
  auto* y = static_cast<float*>(args.y);
  const int64_t history = args.width - 1;
#pragma omp parallel for schedule(static)
  for (int64_t channel = 0; channel < args.channels; ++channel) {
    std::vector<float> tail(static_cast<size_t>(history));
    for (int64_t s = 0; s < args.sequences; ++s) {
      const int64_t begin = args.offsets[s];
      const int64_t tokens = args.offsets[s + 1] - begin;
      for (int64_t j = 0; j < history; ++j) {
        tail[static_cast<size_t>(j)] = args.tails[s][j * args.channels + channel];
      }
      const auto input = [&](int64_t t) {
        return t < 0 ? tail[static_cast<size_t>(t + history)]
                     : x[(begin + t) * args.x_stride + channel];
      };
      for (int64_t t = 0; t < tokens; ++t) {
        float value = args.bias != nullptr ? args.bias[channel] : 0.0F;
        for (int64_t j = 0; j < args.width; ++j) {
          value += args.weight[channel * args.width + j] * input(t - history + j);
        }
        if (args.activation == ActivationKind::kSilu) value /= 1.0F + std::exp(-value);
        y[(begin + t) * args.y_stride + channel] = value;
      }
      for (int64_t j = 0; j < history; ++j) {
        args.tails[s][j * args.channels + channel] = input(tokens - history + j);
      }
    }
  }
}

}  // namespace natsl::kernels
