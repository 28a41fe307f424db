// The layers' building blocks on at::Tensor: dense products, norms, activations, RoPE,
// convolutions. Activations are float32 [tokens, channels], rows contiguous; a row stride is
// allowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model_adapters/native/state.h"
#include "model_adapters/native/weights.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters::native {

/// y = x W^T + b.
class Linear {
 public:
  Linear() = default;
  /// Slots PREFIX.weight and, where present, PREFIX.bias.
  Linear(const WeightLoader& loader, const std::string& prefix);
  explicit Linear(at::Tensor weight) : weight_(std::move(weight)) {}

  at::Tensor operator()(const at::Tensor& x) const;
  bool defined() const { return weight_.defined(); }
  int64_t out_features() const { return weight_.size(0); }
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;  ///< [out, in], float32 or bfloat16
  at::Tensor bias_;    ///< [out] float32, or undefined
};

/// A norm over groups of `width` consecutive channels.
class Norm {
 public:
  Norm() = default;
  /// Slots PREFIX.weight and PREFIX.bias as the spec says. `width`: 0 = the weight's size.
  Norm(const WeightLoader& loader, const std::string& prefix, const NormSpec& spec,
       int64_t width = 0);

  bool defined() const { return width_ > 0; }
  at::Tensor operator()(const at::Tensor& x) const;
  void InPlace(at::Tensor& x) const;
  /// x += a; returns the norm of the sum.
  at::Tensor AfterAdd(at::Tensor& x, const at::Tensor& a) const;
  /// norm(x) * weight * silu(gate), or norm(x * silu(gate)) * weight.
  at::Tensor Gated(const at::Tensor& x, const at::Tensor& gate, bool gate_first = false) const;
  const NormSpec& spec() const { return spec_; }
  const at::Tensor& weight() const { return weight_; }

 private:
  NormSpec spec_;
  at::Tensor weight_, bias_;
  int64_t width_ = 0;
};

/// x / sqrt(sum x^2 + eps), or x / sum x, in place over heads of `width` channels.
void NormalizeHeads(at::Tensor& x, int64_t width, bool l2);

/// Applies `activation` in place.
void Activate(at::Tensor& x, Activation activation);
/// act(gate) * up, into gate.
void ActivateAndMultiply(at::Tensor& gate, const at::Tensor& up, Activation activation);

class Rope {
 public:
  explicit Rope(const RopeSpec& spec);
  /// x [tokens, heads * head_dim], in place.
  void Apply(at::Tensor& x, int64_t head_dim, const std::vector<int64_t>& positions) const;

 private:
  std::vector<float> inverse_frequencies_;
  float attention_factor_ = 1;
};
std::optional<Rope> MakeRope(const std::optional<RopeSpec>& spec);

/// A short causal convolution with carried tails.
class ShortConv {
 public:
  ShortConv() = default;
  /// Slots PREFIX.weight, [PREFIX.bias].
  ShortConv(const WeightLoader& loader, const std::string& prefix, bool silu);

  bool defined() const { return weight_.defined(); }
  /// `tail`: which of the layer's tails is this convolution's.
  at::Tensor operator()(const at::Tensor& x, Batch& batch, int64_t layer, size_t tail) const;

 private:
  at::Tensor weight_;  ///< [channels, width]
  at::Tensor bias_;
  bool silu_ = true;
};

/// Pointers to one recurrent state a sequence, writable (see Batch::Writable).
std::vector<float*> RecurrentStates(Batch& batch, int64_t layer, int64_t floats);

/// The row stride of a 2-d tensor whose rows are contiguous.
inline int64_t RowStride(const at::Tensor& x) { return x.stride(0); }

}  // namespace natsl::model_adapters::native
