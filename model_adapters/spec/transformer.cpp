// The transformer family of flash-linear-attention.
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {

ModelSpec ParseTransformer(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {});
  config.Inert({"elementwise_affine", "attention_bias"});
  AttentionSpec mixer;
  mixer.heads = config.Int("num_heads", 32);
  mixer.head_dim = CheckedQuotient(config, "hidden_size", spec.hidden, "num_heads", mixer.heads);
  mixer.kv_heads = config.OptionalInt("num_kv_heads", std::nullopt).value_or(mixer.heads);
  CheckedQuotient(config, "num_heads", mixer.heads, "num_kv_heads", mixer.kv_heads);
  mixer.scale = InverseRoot(mixer.head_dim);
  mixer.window = config.OptionalInt("window_size", std::nullopt);
  const double base = config.OptionalDouble("rope_theta", 10000, 1, 1e15).value_or(10000);
  mixer.rope = PlainRope(config, base, mixer.head_dim);
  mixer.qkv_bias = config.Bool("qkv_bias", false);
  if (config.Bool("qk_norm", false)) {
    mixer.qk_norm = NormSpec{};
    mixer.qk_norm->eps = 1e-5;  // the layer's own constant, whatever norm_eps says
  }
  for (LayerSpec& layer : spec.layers) layer.mixer = mixer;
  return spec;
}

}  // namespace natsl::model_adapters
