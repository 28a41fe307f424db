// Rotary embedding in place, half-split pairs (i, i + dims/2) of the first `dims` channels.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

struct RopeArgs {
  DType dtype = DType::kFloat32;
  void* x = nullptr;  ///< [T, heads, head_dim], row stride x_stride
  int64_t x_stride = 0;
  const int64_t* positions = nullptr;          ///< [T]
  const float* inverse_frequencies = nullptr;  ///< [dims/2]
  float attention_factor = 1;                  ///< cos and sin times this
  int64_t tokens = 0, heads = 0, head_dim = 0, dims = 0;
};

void Validate(const RopeArgs& args);
void RunRopeReference(const RopeArgs& args);
void RunRopeCpu(const RopeArgs& args);

}  // namespace natsl::kernels
