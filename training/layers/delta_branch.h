// The parts that DeltaNet, Gated DeltaNet and NAtS-L's linear branch share.
#pragma once

#include "training/forms/delta_rule.h"
#include "training/layers/mixers.h"

namespace natsl::training {

struct DeltaProjections {
  at::Tensor raw_q, raw_k, raw_v;  ///< as projected, [B, T, channels]
  at::Tensor q, k, v;              ///< after convolution and activation, before the norms
  at::Tensor beta;                 ///< [B, T, value heads]
  at::Tensor g;                    ///< [B, T, value heads] in float32, or undefined
  at::Tensor gate;                 ///< [B, T, value channels], or undefined
};
DeltaProjections ProjectDelta(const model_adapters::DeltaNetSpec& spec, const at::Tensor& h,
                              const LayerWeights& weights);

/// The delta rule's inputs: q and k normalised and spread over the value heads.
DeltaRuleInputs DeltaInputs(const model_adapters::DeltaNetSpec& spec,
                            const DeltaProjections& projections);

}  // namespace natsl::training
