// DeltaNet and Gated DeltaNet.

#include <cmath>

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/delta_branch.h"
#include "training/layers/ops.h"

namespace natsl::training {

using model_adapters::Activation;
using model_adapters::DeltaNetSpec;

namespace {

constexpr double kL2Eps = 1e-6;

// Convolutions and activations of q, k and v; as one where all are alike.
void MixShort(const DeltaNetSpec& spec, const LayerWeights& weights, const at::Tensor& raw_qkv,
              DeltaProjections& out) {
  const bool silu = spec.qk_activation == Activation::kSilu;
  const auto weight = [&](const char* name) {
    return weights[std::string(name) + "_conv1d.weight"];
  };
  if (spec.conv && silu && !spec.conv->bias) {
    const at::Tensor joint = at::cat({weight("q"), weight("k"), weight("v")});
    const std::vector<at::Tensor> parts =
        at::split_with_sizes(ShortConv(raw_qkv, joint, {}, true),
                             {out.raw_q.size(2), out.raw_k.size(2), out.raw_v.size(2)}, 2);
    out.q = parts[0];
    out.k = parts[1];
    out.v = parts[2];
    return;
  }
  const auto mix = [&](const at::Tensor& x, const char* name, Activation activation) {
    if (!spec.conv) return Activate(x, activation);
    const bool fused = activation == Activation::kSilu;
    const at::Tensor bias = weights.Optional(std::string(name) + "_conv1d.bias");
    const at::Tensor y = ShortConv(x, weight(name), bias, fused);
    return fused ? y : Activate(y, activation);
  };
  out.q = mix(out.raw_q, "q", spec.qk_activation);
  out.k = mix(out.raw_k, "k", spec.qk_activation);
  out.v = mix(out.raw_v, "v", Activation::kSilu);
}

}  // namespace

DeltaProjections ProjectDelta(const DeltaNetSpec& spec, const at::Tensor& h,
                              const LayerWeights& weights) {
  const at::Tensor joint =
      at::cat({weights["q_proj.weight"], weights["k_proj.weight"], weights["v_proj.weight"]});
  std::vector<at::Tensor> all = {joint};
  if (spec.output_gate) all.push_back(weights["g_proj.weight"]);
  if (spec.use_beta) all.push_back(weights["b_proj.weight"]);
  if (spec.decay) all.push_back(weights["a_proj.weight"]);
  const std::vector<at::Tensor> parts = LinearMany(h, all);
  DeltaProjections out;
  size_t next = 0;
  const at::Tensor raw_qkv = parts[next++];
  const int64_t keys = spec.heads * spec.key_dim;
  out.raw_q = raw_qkv.narrow(2, 0, keys);
  out.raw_k = raw_qkv.narrow(2, keys, keys);
  out.raw_v = raw_qkv.narrow(2, 2 * keys, spec.value_heads * spec.value_dim);
  MixShort(spec, weights, raw_qkv, out);
  if (spec.output_gate) out.gate = parts[next++];
  if (spec.use_beta) {
    out.beta = at::sigmoid(parts[next++]);
  } else {
    out.beta = at::ones({h.size(0), h.size(1), spec.value_heads}, h.options());
  }
  if (spec.negative_eigenvalues) out.beta = out.beta * 2;
  if (spec.decay) {
    const at::Tensor step = parts[next++].to(at::kFloat) + weights.Master("dt_bias");
    out.g = at::softplus(step) * weights.Master("A_log").exp().neg();
  }
  return out;
}

DeltaRuleInputs DeltaInputs(const DeltaNetSpec& spec, const DeltaProjections& projections) {
  const double scale = 1 / std::sqrt(static_cast<double>(spec.key_dim));
  const int64_t shared = spec.value_heads / spec.heads;
  const auto heads = [&](const at::Tensor& x, double factor) {
    const at::Tensor split = x.unflatten(2, {spec.heads, spec.key_dim});
    at::Tensor normed;
    if (spec.qk_norm == DeltaNetSpec::QkNorm::kL2) {
      normed = NormalizeHeads(split, factor, kL2Eps, true);
    } else {
      normed = (split / split.sum(-1, true) * factor).transpose(1, 2);
    }
    return Repeat(normed, shared, 1);
  };
  DeltaRuleInputs inputs;
  inputs.q = heads(projections.q, scale);
  inputs.k = heads(projections.k, 1);
  inputs.v = projections.v.unflatten(2, {spec.value_heads, spec.value_dim}).transpose(1, 2);
  inputs.beta = projections.beta.transpose(1, 2);
  if (projections.g.defined()) inputs.g = projections.g.transpose(1, 2);
  return inputs;
}

at::Tensor Mix(const DeltaNetSpec& spec, const at::Tensor& h, const LayerWeights& weights,
               const Pass&) {
  const DeltaProjections projections = ProjectDelta(spec, h, weights);
  const at::Tensor o = DeltaRule(DeltaInputs(spec, projections)).transpose(1, 2);
  at::Tensor gate;
  if (projections.gate.defined()) {
    gate = projections.gate.unflatten(2, {spec.value_heads, spec.value_dim});
  }
  const at::Tensor y = RmsHeads(o, spec.output_norm.eps, weights.Optional("o_norm.weight"), gate);
  return Linear(y.flatten(2), weights["o_proj.weight"]);
}

}  // namespace natsl::training
