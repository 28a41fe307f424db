// The token mixers and channel mixers, one function a kind: h [B, T, hidden] (normed) → [B, T,
// hidden].
#pragma once

#include "training/layers/pass.h"

namespace natsl::training {

at::Tensor Mix(const model_adapters::AttentionSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass);
at::Tensor Mix(const model_adapters::DeltaNetSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass);
at::Tensor Mix(const model_adapters::NatsSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass);
at::Tensor Mix(const model_adapters::Mamba2Spec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass);
at::Tensor Mix(const model_adapters::Rwkv6Spec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass);
/// `lower_bound`: the layer's row of lower bounds, float32 [hidden], or undefined.
at::Tensor Mix(const model_adapters::LinearAttentionSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass, const at::Tensor& lower_bound);
at::Tensor Mix(const model_adapters::HgrnSpec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass& pass, const at::Tensor& lower_bound);

/// The channel mixer; its kind isn't kNone.
at::Tensor RunMlp(const model_adapters::MlpSpec& spec, const at::Tensor& h,
                  const LayerWeights& weights);

}  // namespace natsl::training
