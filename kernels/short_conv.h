// Short causal depthwise convolution with carried tail, optional bias and SiLU (common.md §3).
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

struct ShortConvArgs {
  DType dtype = DType::kFloat32;
  const void* x = nullptr;  ///< [T, C], row stride x_stride
  int64_t x_stride = 0;
  const float* weight = nullptr;  ///< [C, W]; column W-1 multiplies the current token
  const float* bias = nullptr;    ///< [C] or null
  ActivationKind activation = ActivationKind::kSilu;
  void* y = nullptr;  ///< [T, C], row stride y_stride; must not overlap x
  int64_t y_stride = 0;
  /// Per sequence [W-1, C]: the last raw inputs, oldest first (zeros at the start). Updated.
  float* const* tails = nullptr;
  const int64_t* offsets = nullptr;
  int64_t sequences = 0, channels = 0, width = 0;
};

void Validate(const ShortConvArgs& args);
void RunShortConvReference(const ShortConvArgs& args);
void RunShortConvCpu(const ShortConvArgs& args);

}  // namespace natsl::kernels
