// Fast paths of RunPrefillAttention. Each returns false where the arguments or the device don't
// fit.
#pragma once

#include "kernels/cuda/attention.h"

namespace natsl::kernels::cuda {

bool RunPrefillAttentionWgmma(const PrefillAttentionArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
