// Kernels of a device for the layers' memory-bound operators, where a module brings some. Without
// them, and wherever one has no kernel for its arguments, the operators are composed of ATen's.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <optional>
#include <utility>

namespace natsl::training {

/// Arguments as in layers/ops.h; nothing is recorded for autograd. A function that has no kernel
/// for its arguments returns undefined tensors.
struct DeviceOps {
  /// taps [4, C].
  at::Tensor (*conv)(const at::Tensor& x, const at::Tensor& taps, bool silu);
  /// → gradients of x and of the taps (float32).
  std::pair<at::Tensor, at::Tensor> (*conv_gradient)(const at::Tensor& y_gradient,
                                                     const at::Tensor& x, const at::Tensor& taps,
                                                     bool silu);
  at::Tensor (*swiglu)(const at::Tensor& x);
  at::Tensor (*swiglu_gradient)(const at::Tensor& y_gradient, const at::Tensor& x);

  /// y = scale x / sqrt(sum x^2 + eps) * weight * silu(gate) over the last dimension of x, gate
  /// [B, T, H, K] → [B, T, H, K], its memory [B, H, T, K] if `heads_first`. weight [K] and gate may
  /// be undefined.
  struct HeadNorm {
    at::Tensor x, weight, gate;
    double scale = 1, eps = 0;
    bool heads_first = false;
  };
  at::Tensor (*head_norm)(const HeadNorm& args);
  struct HeadNormGradient {
    at::Tensor x, weight, gate;  ///< of the arguments of these names; undefined where those are
  };
  /// y_gradient [B, T, H, K], any strides.
  HeadNormGradient (*head_norm_gradient)(const at::Tensor& y_gradient, const HeadNorm& args);

  // The forms' parts (forms/unit_lower_inverse.h, decayed_scores.h, chunk_scan.h).
  /// (I + a)^-1, a [N, C, C].
  at::Tensor (*unit_lower_inverse)(const at::Tensor& a);
  /// exp(b_t - b_j) for j <= t, else 0, in `dtype`; b [N, C].
  at::Tensor (*decay_matrix)(const at::Tensor& b, at::ScalarType dtype);
  /// ErasingScan; `backward`: from the last chunk to the first with the erase matrices transposed.
  /// `decay` may be undefined.
  at::Tensor (*erasing_scan)(const at::Tensor& erase, const at::Tensor& increment,
                             const at::Tensor& decay, bool backward);
};

/// An uninitialised tensor like x [B, T, H, K], its memory that or [B, H, T, K].
inline at::Tensor NewHeads(const at::Tensor& x, bool heads_first) {
  const int64_t tokens = x.size(1), heads = x.size(2), width = x.size(3);
  const int64_t token_stride = heads_first ? width : heads * width;
  const int64_t head_stride = heads_first ? tokens * width : width;
  return at::empty_strided(x.sizes(), {tokens * heads * width, token_stride, head_stride, 1},
                           x.options());
}

/// Registers CUDA's; null: none. Before any network runs.
void UseCudaOps(const DeviceOps* ops);
/// Those for tensors like `x`, or null.
const DeviceOps* DeviceOpsFor(const at::Tensor& x);

}  // namespace natsl::training
