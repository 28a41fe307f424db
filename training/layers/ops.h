// The layers' building blocks with their gradients: norms, activations, gates, convolutions, RoPE,
// embeddings of several projections in one product. Activations [B, T, channels] in the pass's
// type, weights rounded to it; statistics in float32 (float64 for float64).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model_adapters/spec/model_spec.h"

namespace natsl::training {

/// x W^T + b over the last dimension; `bias` may be undefined.
at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// x W_i^T for several weights [out_i, in], as one product; the results are views of one tensor.
std::vector<at::Tensor> LinearMany(const at::Tensor& x, const std::vector<at::Tensor>& weights);

/// A norm over the last dimension. `weight` and `bias` may be undefined.
at::Tensor ApplyNorm(const at::Tensor& x, const model_adapters::NormSpec& spec,
                     const at::Tensor& weight, const at::Tensor& bias);

/// scale * x / sqrt(sum x^2 + eps) over the last dimension of x [B, T, H, K] → [B, T, H, K], or
/// [B, H, T, K] contiguous (`heads_first`).
at::Tensor NormalizeHeads(const at::Tensor& x, double scale, double eps, bool heads_first);

/// x / sqrt(mean x^2 + eps) * weight * silu(gate) over the last dimension of x, gate [B, T, H, V];
/// weight [V] and gate may be undefined.
at::Tensor RmsHeads(const at::Tensor& x, double eps, const at::Tensor& weight = {},
                    const at::Tensor& gate = {});

at::Tensor Activate(const at::Tensor& x, model_adapters::Activation activation);

/// x [..., 2 I] → silu(first half) * second half.
at::Tensor SwiGlu(const at::Tensor& x);

/// The causal depthwise convolution of common.md: x [B, T, C], weight [C, 1, W], `bias` [C] or
/// undefined; silu after it where asked for.
at::Tensor ShortConv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     bool silu);

/// Half-split rotary embedding of x [B, T, H, K]; cosines and sines [T, dims / 2] in x's type.
/// → [B, T, H, K].
at::Tensor Rotate(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines);

/// x_{t-1} - x_t, with zeros before the first token.
at::Tensor ShiftDifference(const at::Tensor& x);

}  // namespace natsl::training
