// Linear attention with decay and additive update, chunked: scalar decay a token (RetNet, Mamba2)
// and vector decay (GLA, HGRN2, RWKV6).
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// S_t = e^{g_t} S_{t-1} + k_t v_t^T,  o_t = S_t^T q_t.
/// q, k [B, H, T, K], v [B, H, T, V], g [B, H, T] in the state's type → o [B, H, T, V].
at::Tensor ScalarDecayAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& g);

/// The same with g [B, H, T, K]. With `bonus` [H, K] (RWKV6) the output reads the state before the
/// token instead: o_t = (S_{t-1} + (bonus * k_t) v_t^T)^T q_t. Undefined: none.
at::Tensor VectorDecayAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& g, const at::Tensor& bonus = {});

/// s_t = e^{g_t} s_{t-1} + x_t elementwise; x, g [B, T, C] in the state's type → s [B, T, C].
at::Tensor GatedScan(const at::Tensor& x, const at::Tensor& g);

}  // namespace natsl::training
