// Elementwise gated scan (HGRN) over C channels: s_t = exp(g_t) s_{t-1} + x_t ;  o_t = s_t.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

struct ScanArgs {
  DType dtype = DType::kFloat32;
  const void* x = nullptr;         ///< [T, C], contiguous
  const float* g = nullptr;        ///< log decay [T, C] (<= 0)
  void* o = nullptr;               ///< [T, C]
  float* const* states = nullptr;  ///< per sequence [C], updated
  const int64_t* offsets = nullptr;
  int64_t sequences = 0, channels = 0;
};

void Validate(const ScanArgs& args);
void RunScanReference(const ScanArgs& args);
void RunScanCpu(const ScanArgs& args);

}  // namespace natsl::kernels
