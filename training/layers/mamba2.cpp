// Mamba2 (SSD): linear attention with a scalar decay a token, q = C, k = B, v = dt X.

#include <cmath>

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/forms/linear_attention.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

at::Tensor Mix(const model_adapters::Mamba2Spec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass&) {
  const int64_t inner = spec.heads * spec.head_dim;
  const int64_t shared = spec.groups * spec.state;
  const at::Tensor projected =
      Linear(h, weights["in_proj.weight"], weights.Optional("in_proj.bias"));
  const std::vector<at::Tensor> parts =
      at::split_with_sizes(projected, {inner, inner + 2 * shared, spec.heads}, 2);
  const at::Tensor& z = parts[0];
  const std::vector<at::Tensor> xbc = at::split_with_sizes(
      ShortConv(parts[1], weights["conv1d.weight"], weights.Optional("conv1d.bias"), true),
      {inner, shared, shared}, 2);
  at::Tensor dt = at::softplus(parts[2].to(at::kFloat) + weights.Master("dt_bias"));
  const auto [low, high] = spec.dt_limit;
  if (low > 0 || !std::isinf(high)) dt = dt.clamp(low, high);
  const at::Tensor g = dt * weights.Master("A_log").exp().neg();

  const at::Tensor x = xbc[0].unflatten(2, {spec.heads, spec.head_dim});
  const at::Tensor v = x * dt.to(h.scalar_type()).unsqueeze(3);
  const auto heads = [&](const at::Tensor& t) {
    return Repeat(t.unflatten(2, {spec.groups, spec.state}), spec.heads / spec.groups, 2)
        .transpose(1, 2);
  };
  const at::Tensor o =
      ScalarDecayAttention(heads(xbc[2]), heads(xbc[1]), v.transpose(1, 2), g.transpose(1, 2))
          .transpose(1, 2);
  const at::Tensor skip = weights["D"].view({spec.heads, spec.d_has_head_dim ? spec.head_dim : 1});
  at::Tensor y = at::addcmul(o, x, skip).flatten(2);
  const at::Tensor gate = at::silu(z);
  if (!spec.gated_norm || !spec.norm_before_gate) y = y * gate;
  if (spec.gated_norm) {
    const at::Tensor split = y.unflatten(2, {spec.groups, inner / spec.groups});
    y = RmsHeads(split, spec.norm_eps).flatten(2) * weights["norm.weight"];
    if (spec.norm_before_gate) y = y * gate;
  }
  return Linear(y, weights["out_proj.weight"], weights.Optional("out_proj.bias"));
}

}  // namespace natsl::training
