// The parts that DeltaNet, Gated DeltaNet and NAtS-L's linear branch share.
#pragma once

#include "kernels/delta_rule.h"
#include "model_adapters/native/mixers/mixer.h"

namespace natsl::model_adapters::native {

/// Projections, short convolutions, gates and the recurrence of the (gated) delta rule.
class DeltaBranch {
 public:
  DeltaBranch(const DeltaNetSpec& spec, const MixerContext& context);

  struct Inputs {
    at::Tensor raw_q, raw_k, raw_v;  ///< as projected
    at::Tensor q, k, v;              ///< after convolution and activation, before the norms
    at::Tensor g, beta;              ///< [tokens, value_heads]; g undefined without decay
  };
  Inputs Project(const at::Tensor& h, Batch& batch, int64_t layer) const;

  /// Normalises q and k of `inputs` in place and runs the recurrence: [tokens, value_heads * V].
  /// `args` may carry NAtS-L's extras.
  at::Tensor Recur(Inputs& inputs, Batch& batch, int64_t layer,
                   kernels::DeltaRuleArgs args = {}) const;

  int64_t state_floats() const { return spec_.value_heads * spec_.key_dim * spec_.value_dim; }

 private:
  at::Tensor Mix(const at::Tensor& x, const ShortConv& conv, Activation activation, Batch& batch,
                 int64_t layer, size_t tail) const;

  DeltaNetSpec spec_;
  Linear q_proj_, k_proj_, v_proj_, b_proj_, a_proj_;
  ShortConv q_conv_, k_conv_, v_conv_;
  at::Tensor negative_a_, dt_bias_;  ///< -exp(A_log), dt_bias: [value_heads]
};

}  // namespace natsl::model_adapters::native
