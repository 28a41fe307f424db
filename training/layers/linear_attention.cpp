// GLA, RetNet and HGRN2: linear attention with decay and additive update.
#include "training/forms/linear_attention.h"

#include <cmath>

#include "model_adapters/native/torch_headers.h"
#include "training/layers/lower_bounds.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

using model_adapters::Activation;
using model_adapters::LinearAttentionSpec;
using Family = LinearAttentionSpec::Family;

namespace {

struct Inputs {
  at::Tensor q, k, v;  ///< [B, T, channels]
  at::Tensor g;        ///< [B, T, key channels] in float32; RetNet: undefined
  at::Tensor gate;     ///< [B, T, value channels], or undefined
};

Inputs Project(const LinearAttentionSpec& spec, const at::Tensor& h, const LayerWeights& weights,
               const at::Tensor& lower_bound) {
  const bool hgrn2 = spec.family == Family::kHgrn2, gla = spec.family == Family::kGla;
  const std::string names[] = {"q", hgrn2 ? "f" : "k", hgrn2 ? "i" : "v"};
  std::vector<at::Tensor> all;
  for (const std::string& name : names) all.push_back(weights[name + "_proj.weight"]);
  if (spec.output_gate) all.push_back(weights["g_proj.weight"]);
  if (gla) all.push_back(weights["gk_proj.0.weight"]);
  std::vector<at::Tensor> parts = LinearMany(h, all);
  if (spec.conv) {
    const bool silu = spec.conv->activation == Activation::kSilu;
    for (size_t i = 0; i < 3; ++i) {
      parts[i] = ShortConv(parts[i], weights[names[i] + "_conv1d.weight"],
                           weights.Optional(names[i] + "_conv1d.bias"), silu);
    }
  }
  Inputs in;
  in.v = parts[2];
  if (hgrn2) {
    in.q = at::silu(parts[0]);
    in.g = LogForgetGate(parts[1], lower_bound);
    in.k = at::expm1(in.g).neg().to(h.scalar_type());
  } else {
    in.q = Activate(parts[0], spec.feature_map);
    in.k = Activate(parts[1], spec.feature_map);
  }
  size_t next = 3;
  if (spec.output_gate) in.gate = parts[next++];
  if (gla) {
    const at::Tensor up =
        Linear(parts[next], weights["gk_proj.1.weight"], weights["gk_proj.1.bias"]);
    in.g = at::log_sigmoid(up.to(at::kFloat)) / spec.decay_normalizer;
    if (spec.clamp_min) in.g = in.g.clamp_min(*spec.clamp_min);
  }
  return in;
}

}  // namespace

at::Tensor Mix(const LinearAttentionSpec& spec, const at::Tensor& h, const LayerWeights& weights,
               const Pass& pass, const at::Tensor& lower_bound) {
  const Inputs in = Project(spec, h, weights, lower_bound);
  const auto split = [](const at::Tensor& x, int64_t width) { return x.unflatten(2, {-1, width}); };
  at::Tensor q = split(in.q, spec.key_dim), k = split(in.k, spec.key_dim);
  if (spec.rope) {
    const auto tables = pass.constants->Rope(*spec.rope, pass.tokens, pass.dtype);
    q = Rotate(q, tables.cosines, tables.sines);
    k = Rotate(k, tables.cosines, tables.sines);
  }
  const int64_t shared = spec.heads / spec.kv_heads;
  const auto heads = [&](const at::Tensor& x) { return Repeat(x, shared, 2).transpose(1, 2); };
  q = (q * (1 / std::sqrt(static_cast<double>(spec.key_dim)))).transpose(1, 2);
  k = heads(k);
  const at::Tensor v = heads(split(in.v, spec.value_dim));
  at::Tensor o;
  if (spec.family == Family::kRetNet) {
    const at::Tensor g = pass.constants->RetentionDecay(spec.heads)
                             .view({1, -1, 1})
                             .expand({pass.batch, -1, pass.tokens});
    o = ScalarDecayAttention(q, k, v, g);
  } else {
    o = VectorDecayAttention(q, k, v, heads(split(in.g, spec.key_dim)));
  }
  o = o.transpose(1, 2);
  const at::Tensor norm_weight = weights.Optional("g_norm.weight");
  if (spec.family == Family::kHgrn2) {
    return Linear(ApplyNorm(o.flatten(2), spec.output_norm, norm_weight, {}),
                  weights["o_proj.weight"]);
  }
  const bool fused = in.gate.defined() && spec.gate_activation == Activation::kSilu;
  at::Tensor y = RmsHeads(o, spec.output_norm.eps, norm_weight,
                          fused ? split(in.gate, spec.value_dim) : at::Tensor());
  if (in.gate.defined() && !fused) {
    y = y * split(Activate(in.gate, spec.gate_activation), spec.value_dim);
  }
  return Linear(y.flatten(2), weights["o_proj.weight"]);
}

}  // namespace natsl::training
