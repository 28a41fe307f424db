// Softmax attention: GQA, windows, RoPE, q/k norms.
#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/mixers.h"
#include "training/layers/ops.h"

namespace natsl::training {

using model_adapters::AttentionSpec;

namespace {

// True where a query sees a key under a window, [tokens, tokens].
at::Tensor WindowMask(int64_t tokens, int64_t window, const at::Tensor& like) {
  const at::Tensor ones = at::ones({tokens, tokens}, like.options().dtype(at::kBool));
  return ones.tril().triu(1 - window);
}

}  // namespace

at::Tensor Mix(const AttentionSpec& spec, const at::Tensor& h, const LayerWeights& weights,
               const Pass& pass) {
  std::vector<at::Tensor> qkv =
      LinearMany(h, {weights["q_proj.weight"], weights["k_proj.weight"], weights["v_proj.weight"]});
  const char* const biases[] = {"q_proj.bias", "k_proj.bias", "v_proj.bias"};
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (spec.qkv_bias) qkv[i] = qkv[i] + weights[biases[i]];
    qkv[i] = qkv[i].unflatten(2, {i == 0 ? spec.heads : spec.kv_heads, spec.head_dim});
  }
  if (spec.qk_norm) {
    qkv[0] = ApplyNorm(qkv[0], *spec.qk_norm, weights["q_norm.weight"], {});
    qkv[1] = ApplyNorm(qkv[1], *spec.qk_norm, weights["k_norm.weight"], {});
  }
  if (spec.rope) {
    const auto tables = pass.constants->Rope(*spec.rope, pass.tokens, pass.dtype);
    qkv[0] = Rotate(qkv[0], tables.cosines, tables.sines);
    qkv[1] = Rotate(qkv[1], tables.cosines, tables.sines);
  }
  for (size_t i = 1; i < qkv.size(); ++i) qkv[i] = Repeat(qkv[i], spec.heads / spec.kv_heads, 2);
  for (at::Tensor& x : qkv) x = x.transpose(1, 2);
  std::optional<at::Tensor> mask;
  if (spec.window && *spec.window < pass.tokens) {
    mask = WindowMask(pass.tokens, *spec.window, h);
  }
  const at::Tensor o = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], mask, 0,
                                                        !mask.has_value(), spec.scale);
  return Linear(o.transpose(1, 2).flatten(2), weights["o_proj.weight"],
                weights.Optional("o_proj.bias"));
}

}  // namespace natsl::training
