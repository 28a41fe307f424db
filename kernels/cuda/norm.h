// Norms on the device, with fused residual add and gate: the semantics of kernels/norm.h (the same
// argument structs, device pointers; statistics in float32). x + residual is normed before it is
// rounded. Widths up to 16,384.
#pragma once

#include "kernels/cuda/common.h"
#include "kernels/norm.h"

namespace natsl::kernels::cuda {

void RunNorm(const NormArgs& args, cudaStream_t stream);
void RunMergeNorm(const MergeNormArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
