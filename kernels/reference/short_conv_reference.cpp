// The definition of the short convolution: argument checks and the filter in double precision.
#include <cmath>
#include <vector>

#include "kernels/require.h"
#include "kernels/short_conv.h"

namespace natsl::kernels {

void Validate(const ShortConvArgs& args) {
  Require(args.dtype == DType::kFloat32 || args.dtype == DType::kBFloat16,
          "short conv: dtype is {}, expected float32 or bfloat16", core::Name(args.dtype));
  Require(args.channels >= 1, "short conv: channels is {}, expected >= 1", args.channels);
  Require(args.width >= 1, "short conv: width is {}, expected >= 1", args.width);
  RequireOffsets("short conv", args.offsets, args.sequences);
  if (args.sequences == 0 || args.offsets[args.sequences] == args.offsets[0]) return;
  Require(args.x != nullptr, "short conv: x is null");
  Require(args.y != nullptr, "short conv: y is null");
  Require(args.x != args.y, "short conv: y is x, expected memory that does not overlap it");
  Require(args.weight != nullptr, "short conv: weight is null");
  const bool one_row = args.offsets[args.sequences] == 1;
  Require(one_row || args.x_stride >= args.channels,
          "short conv: x_stride is {}, expected >= channels = {}", args.x_stride, args.channels);
  Require(one_row || args.y_stride >= args.channels,
          "short conv: y_stride is {}, expected >= channels = {}", args.y_stride, args.channels);
  if (args.width == 1) return;
  Require(args.tails != nullptr, "short conv: tails is null");
  for (int64_t s = 0; s < args.sequences; ++s) {
    Require(args.tails[s] != nullptr, "short conv: tails[{}] is null", s);
  }
}

void RunShortConvReference(const ShortConvArgs& args) {
  const auto* x = static_cast<const float*>(args.x);
  auto* y = static_cast<float*>(args.y);
  const int64_t history = args.width - 1;
  for (int64_t s = 0; s < args.sequences; ++s) {
    const int64_t tokens = args.offsets[s + 1] - args.offsets[s];
    for (int64_t channel = 0; channel < args.channels; ++channel) {
      // The channel's inputs with its history in front: input t is at index t + history.
      std::vector<float> inputs;
      for (int64_t j = 0; j < history; ++j) {
        inputs.push_back(args.tails[s][j * args.channels + channel]);
      }
      for (int64_t t = 0; t < tokens; ++t) {
        inputs.push_back(x[(args.offsets[s] + t) * args.x_stride + channel]);
      }
      for (int64_t t = 0; t < tokens; ++t) {
        double value = args.bias != nullptr ? args.bias[channel] : 0.0;
        for (int64_t j = 0; j < args.width; ++j) {
          value += static_cast<double>(args.weight[channel * args.width + j]) *
                   inputs[static_cast<size_t>(t + j)];
        }
        if (args.activation == ActivationKind::kSilu) value /= 1.0 + std::exp(-value);
        y[(args.offsets[s] + t) * args.y_stride + channel] = static_cast<float>(value);
      }
      for (int64_t j = 0; j < history; ++j) {
        args.tails[s][j * args.channels + channel] = inputs[static_cast<size_t>(tokens + j)];
      }
    }
  }
}

}  // namespace natsl::kernels
