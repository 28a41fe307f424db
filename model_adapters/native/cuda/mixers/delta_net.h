// The parts that DeltaNet, Gated DeltaNet and NAtS-L's linear branch share.
#pragma once

#include "kernels/cuda/delta_rule.h"
#include "model_adapters/native/cuda/mixers/mixer.h"

namespace natsl::model_adapters::native::cuda {

/// Projections, short convolutions, gates and the recurrence of the (gated) delta rule.
class DeltaBranch {
 public:
  DeltaBranch(const DeltaNetSpec& spec, const MixerContext& context);

  struct Inputs {
    at::Tensor raw_q, raw_k, raw_v;  ///< as projected
    at::Tensor q, k, v;              ///< after convolution and activation, before the norms
    at::Tensor gate;                 ///< output gate, undefined without one
    at::Tensor g, beta;              ///< float32 [tokens, value_heads]; undefined: none
  };
  /// The recurrence's outputs [tokens, value_heads * V]. A decode step may fill q, k and v only for
  /// NAtS-L, and never g and beta.
  at::Tensor Forward(Hidden& h, const Pass& pass, const kernels::cuda::NatsDelta* nats,
                     Inputs& in) const;

  int64_t state_floats() const { return spec_.value_heads * spec_.key_dim * spec_.value_dim; }

 private:
  /// A decode step in one kernel, from the projections `y` on; false where the sizes don't fit it.
  bool Step(const at::Tensor& y, const at::Tensor& mixed, const at::Tensor& o, const Pass& pass,
            const kernels::cuda::NatsDelta* nats) const;
  /// Convolutions, activations and gates.
  void Mix(const at::Tensor& y, const at::Tensor& mixed, Inputs& in, const Pass& pass) const;
  void Recur(const Inputs& inputs, const at::Tensor& o, const Pass& pass,
             const kernels::cuda::NatsDelta* nats) const;

  enum Part : size_t { kQ, kK, kV, kGate, kB, kA };

  DeltaNetSpec spec_;
  Projection proj_;  ///< q, k, v, gate, b, a
  ShortConv qk_conv_, v_conv_, qkv_conv_;
  at::Tensor negative_a_, dt_bias_;  ///< -exp(A_log), dt_bias: [value_heads]
  int64_t state_ = 0;
};

}  // namespace natsl::model_adapters::native::cuda
