// RWKV6's time mix: data-dependent token shift, vector decay, bonus for the current token.
#include "model_adapters/native/torch_headers.h"
#include "training/forms/linear_attention.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

at::Tensor Mix(const model_adapters::Rwkv6Spec& spec, const at::Tensor& h,
               const LayerWeights& weights, const Pass&) {
  const at::Tensor delta = ShiftDifference(h);
  const at::Tensor z = at::tanh(
      Linear(at::addcmul(h, delta, weights["x_proj.0.mu"]), weights["x_proj.0.linear.weight"]));
  const std::vector<at::Tensor> down = z.split(spec.shift_rank, 2);
  const std::vector<at::Tensor> up = weights["x_proj.2.weight"].split(spec.shift_rank, 1);
  const at::Tensor& bias = weights["x_bias"];
  // The order of the five mixes: receptance, decay, key, value, gate.
  const auto mixed = [&](size_t n) {
    const at::Tensor coefficients = Linear(down[n], up[n], bias.select(0, static_cast<int64_t>(n)));
    return at::addcmul(h, delta, coefficients);
  };
  const at::Tensor r = Linear(mixed(0), weights["r_proj.linear.weight"]);
  const at::Tensor low = at::tanh(Linear(mixed(1), weights["w_proj.linear.lora.0.weight"]));
  const at::Tensor log_decay =
      Linear(low, weights["w_proj.linear.lora.2.weight"], weights["w_proj.linear.lora.2.bias"])
          .to(at::kFloat)
          .exp()
          .neg();
  const at::Tensor k = Linear(mixed(2), weights["k_proj.linear.weight"]);
  const at::Tensor v = Linear(mixed(3), weights["v_proj.linear.weight"]);
  const at::Tensor gate = at::silu(Linear(mixed(4), weights["g_proj.linear.weight"]));
  const auto heads = [&](const at::Tensor& x) {
    return x.unflatten(2, {spec.heads, -1}).transpose(1, 2);
  };
  const at::Tensor o =
      VectorDecayAttention(heads(r), heads(k), heads(v), heads(log_decay), weights["bonus"])
          .transpose(1, 2);
  const at::Tensor normed = at::layer_norm(o, {spec.value_dim}, {}, {}, spec.norm_eps).flatten(2);
  const at::Tensor y = at::addcmul(weights["g_norm.bias"], normed, weights["g_norm.weight"]);
  return Linear(y * gate, weights["o_proj.weight"]);
}

}  // namespace natsl::training
