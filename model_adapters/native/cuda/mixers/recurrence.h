// The linear-attention kernel as GLA, RetNet, HGRN2, Mamba2 and RWKV6 call it.
#pragma once

#include "kernels/cuda/linear_attention.h"
#include "model_adapters/native/cuda/pass.h"
#include "model_adapters/native/cuda/tensors.h"

namespace natsl::model_adapters::native::cuda {

/// `args` carries heads, dims, decay and scale; `state`: number in the pool. [tokens, heads * V].
at::Tensor RunRecurrence(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         kernels::cuda::LinearAttentionArgs args, int64_t state, const Pass& pass);

}  // namespace natsl::model_adapters::native::cuda
