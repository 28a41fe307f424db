// Short causal depthwise convolution with carried tail, bias, SiLU, and the L2 norm of heads.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

struct ShortConvArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;  ///< [T, C]
  int64_t x_stride = 0;
  const float* weight = nullptr;  ///< [C, W], 16-byte aligned; column W-1 is the current token's
  const float* bias = nullptr;    ///< [C] or null
  ActivationKind activation = ActivationKind::kSilu;
  void* y = nullptr;  ///< [T, C]; must not overlap x
  int64_t y_stride = 0;
  /// [slots, W-1, C] float32: the last raw inputs, oldest first.
  float* tails = nullptr;
  StateSlots slots;
  const int64_t* offsets = nullptr;  ///< null: a decode step, one row a sequence
  int64_t sequences = 0, tokens = 0, channels = 0, width = 4;  ///< width at most 4
};

void RunShortConv(const ShortConvArgs& args, cudaStream_t stream);

/// RWKV6's token shift: y = previous row - x, with the carried last row ([slots, C] float32).
struct TokenShiftArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;  ///< [T, C]
  int64_t x_stride = 0;
  void* difference = nullptr;  ///< [T, C] contiguous
  float* tails = nullptr;
  StateSlots slots;
  const int64_t* offsets = nullptr;  ///< null: a decode step
  int64_t sequences = 0, tokens = 0, channels = 0;
};

void RunTokenShift(const TokenShiftArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
