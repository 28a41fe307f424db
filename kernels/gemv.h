// y[M, N] = x[M, K] W[N, K]^T (+ bias) for few rows M, bound by the bytes of W: decode steps.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

struct GemvArgs {
  const float* x = nullptr;  ///< [M, K], row stride x_stride
  int64_t x_stride = 0;
  const void* weight = nullptr;          ///< [N, K] contiguous
  DType weight_dtype = DType::kFloat32;  ///< kFloat32, kBFloat16 or kFloat16; products in float32
  const float* bias = nullptr;           ///< [N] or null
  float* y = nullptr;                    ///< [M, N], row stride y_stride
  int64_t y_stride = 0;
  int64_t m = 0, n = 0, k = 0;
};

void Validate(const GemvArgs& args);
void RunGemvReference(const GemvArgs& args);
void RunGemvCpu(const GemvArgs& args);

/// Converts `count` elements of kBFloat16 or kFloat16 to float32 (all cores).
void ConvertToFloat32(const void* source, DType dtype, float* target, int64_t count);

}  // namespace natsl::kernels
