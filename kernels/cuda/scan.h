// HGRN's elementwise scan on the device: s_t = exp(g_t) s_{t-1} + x_t, o_t = s_t.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

struct ScanArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;  ///< [T, C]
  int64_t x_stride = 0;
  const float* g = nullptr;  ///< log decay [T, C] contiguous
  void* o = nullptr;         ///< [T, C]
  int64_t o_stride = 0;
  float* state = nullptr;  ///< [slots, C]
  StateSlots slots;
  const ChunkPlan* plan = nullptr;  ///< host pointer; null: a decode step
  int64_t sequences = 0, channels = 0;
  void* workspace = nullptr;  ///< ScanWorkspaceBytes
};

int64_t ScanWorkspaceBytes(const ScanArgs& args);
void RunScan(const ScanArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
