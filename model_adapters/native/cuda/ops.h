// The layers' building blocks on the device. Activations are [tokens, channels] of the model's
// dtype, rows contiguous; a row stride is allowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/attention_step.h"
#include "kernels/cuda/delta_step.h"
#include "kernels/cuda/elementwise.h"
#include "model_adapters/native/cuda/pass.h"
#include "model_adapters/native/cuda/skinny_product.h"
#include "model_adapters/native/cuda/tensors.h"
#include "model_adapters/native/weights.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters::native::cuda {

/// Brings weights to the device.
class DeviceLoader {
 public:
  DeviceLoader(const WeightSource& source, core::DType dtype)
      : loader_(source, dtype), dtype_(dtype) {}

  bool Has(const std::string& slot) const { return loader_.Has(slot); }
  core::DType dtype() const { return dtype_; }
  at::Tensor Matrix(const std::string& slot) const;
  /// float32; undefined where `slot` is absent and `optional`.
  at::Tensor Small(const std::string& slot, bool optional = false) const;
  /// The same on the host.
  at::Tensor HostMatrix(const std::string& slot) const { return loader_.Matrix(slot); }
  at::Tensor HostSmall(const std::string& slot, bool optional = false) const {
    return loader_.Small(slot, optional);
  }

 private:
  WeightLoader loader_;
  core::DType dtype_;
};

/// A norm over groups of `width` consecutive channels.
class Norm {
 public:
  Norm() = default;
  Norm(const DeviceLoader& loader, const std::string& prefix, const NormSpec& spec,
       int64_t width = 0);

  bool defined() const { return width_ > 0; }
  at::Tensor operator()(const at::Tensor& x) const;
  void Into(const at::Tensor& x, const at::Tensor& y) const;
  /// x += a; returns the norm of the sum.
  at::Tensor AfterAdd(at::Tensor& x, const at::Tensor& a) const;
  /// norm(x) * weight * silu(gate), or norm(x * silu(gate)) * weight.
  at::Tensor Gated(const at::Tensor& x, const at::Tensor& gate, bool gate_first = false) const;
  const at::Tensor& weight() const { return weight_; }
  /// Fills the norm's part of `args`.
  void Describe(SkinnyProductArgs& args) const;
  /// An RMS norm of heads of `width` channels with one weight for all: what a fused step needs.
  struct HeadRms {
    const float* weight;
    double eps;
    bool one_plus;
  };
  std::optional<HeadRms> AsHeadRms(int64_t width) const;
  int64_t group() const { return width_; }

 private:
  NormSpec spec_;
  at::Tensor weight_, bias_;
  int64_t width_ = 0;
};

/// norm(x + add), the input of a mixer or MLP. Where the rows are few and the first to ask is a
/// projection, the norm happens inside its product. `x` becomes x + add either way.
class Hidden {
 public:
  Hidden(const Norm& norm, at::Tensor& x, at::Tensor add)
      : norm_(norm), x_(x), add_(std::move(add)) {}

  const at::Tensor& tensor();
  int64_t rows() const { return x_.size(0); }
  at::ScalarType type() const { return x_.scalar_type(); }
  /// Fills the input's part of a few-row kernel's arguments; false where the norm isn't one over
  /// the whole row, or has been computed already.
  bool Describe(SkinnyProductArgs& args) const;

 private:
  friend class Projection;

  const Norm& norm_;
  at::Tensor& x_;
  at::Tensor add_;
  at::Tensor tensor_;  ///< undefined until somebody needs it
};

/// y = x W^T + b of one or several linear layers that read the same input: one product, whose
/// columns hold the parts side by side, each at a multiple of 16 bytes.
class Projection {
 public:
  Projection() = default;
  /// Slots PREFIX + name + ".weight" and, where present, ".bias"; empty names are left out.
  Projection(const DeviceLoader& loader, const std::string& prefix,
             const std::vector<std::string>& names);
  explicit Projection(at::Tensor weight);

  at::Tensor operator()(const at::Tensor& x) const { return Product(x, false); }
  at::Tensor operator()(Hidden& h) const { return Product(h, false); }
  /// float32 output.
  at::Tensor Wide(const at::Tensor& x) const { return Product(x, true); }
  at::Tensor Wide(Hidden& h) const { return Product(h, true); }
  /// The product of silu(gate) * up, or of norm.Gated(x, gate, gate_first).
  at::Tensor OfGated(const at::Tensor& gate, const at::Tensor& up) const;
  at::Tensor OfHeadNormed(const Norm& norm, const at::Tensor& x, const at::Tensor& gate,
                          bool gate_first = false) const;

  bool defined() const { return weight_.defined(); }
  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }  ///< undefined: none
  /// First column of part `i`, and its columns.
  int64_t begin(size_t i) const { return begins_[i]; }
  int64_t width(size_t i) const { return widths_[i]; }
  at::Tensor Part(const at::Tensor& y, size_t i) const {
    return Columns(y, begins_[i], widths_[i]);
  }

 private:
  at::Tensor Product(const at::Tensor& x, bool wide) const;
  at::Tensor Product(Hidden& h, bool wide) const;
  SkinnyProductArgs Skinny(const at::Tensor& x) const;
  /// Few rows: y of `args`, in one kernel.
  at::Tensor RunSkinny(SkinnyProductArgs& args, at::ScalarType type) const;

  at::Tensor weight_, bias_;
  std::vector<int64_t> begins_, widths_;
};

/// x / sum x over heads of `width` channels, into a new tensor.
at::Tensor SumNormalized(const at::Tensor& x, int64_t width);

kernels::cuda::Unary UnaryOf(Activation activation);
/// act(x), or act(x) * factor, into y (which may be x).
void ActivateInto(const at::Tensor& x, kernels::cuda::Unary activation, const at::Tensor& factor,
                  const at::Tensor& y);
at::Tensor Activated(const at::Tensor& x, kernels::cuda::Unary activation,
                     const at::Tensor& factor = {});

class Rope {
 public:
  explicit Rope(const RopeSpec& spec);
  /// x [tokens, heads * head_dim], in place.
  void Apply(const at::Tensor& x, int64_t head_dim, const Pass& pass) const;
  /// Of q and k, at once where they are neighbouring columns.
  void ApplyBoth(const at::Tensor& q, const at::Tensor& k, int64_t head_dim,
                 const Pass& pass) const;
  void Describe(kernels::cuda::AttentionStepArgs& args) const;

 private:
  at::Tensor inverse_frequencies_;
  double attention_factor_ = 1;
};
std::optional<Rope> MakeRope(const std::optional<RopeSpec>& spec);

/// Short causal convolutions of neighbouring columns, all with the same activation.
class ShortConv {
 public:
  ShortConv() = default;
  /// Slots PREFIX + name + ".weight" and, where present, ".bias".
  ShortConv(const DeviceLoader& loader, const std::string& prefix,
            const std::vector<std::string>& names, bool silu, StatePool& pool);

  bool defined() const { return weight_.defined(); }
  int64_t channels() const { return weight_.size(0); }
  void Into(const at::Tensor& x, const at::Tensor& y, const Pass& pass) const;
  /// Fills the convolution's part of a fused step; false where that has no such convolution.
  bool Describe(kernels::cuda::DeltaStepArgs& args, const Pass& pass) const;

 private:
  at::Tensor weight_, bias_;  ///< [channels, width], [channels]
  bool silu_ = true;
  int64_t tails_ = 0;
};

}  // namespace natsl::model_adapters::native::cuda
