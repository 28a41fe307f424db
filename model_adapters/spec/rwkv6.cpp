// RWKV6 in flash-linear-attention's flavour.
#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {

ModelSpec ParseRwkv6(ConfigReader& config) {
  ModelSpec spec = CommonSkeleton(config, {.layers = 24,
                                           .vocabulary = 32000,
                                           .hidden = 2048,
                                           .max_positions = 2048,
                                           .bos = 1,
                                           .eos = 2});
  config.RequireNull("attnres_block_size", "attention residuals");
  config.Inert(
      {"attn_mode", "fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp"});
  NormSpec norm;
  norm.kind = NormKind::kLayer;
  norm.eps = config.Double("norm_eps", 1e-5, 0, 1);
  norm.bias = config.Bool("norm_bias", true);
  spec.final_norm = norm;

  Rwkv6Spec mixer;
  mixer.heads = config.Int("num_heads", 4);
  const int64_t key_dim = Scaled(config, "hidden_size times expand_k", spec.hidden,
                                 config.Double("expand_k", 0.5, 0.001, 1024));
  const int64_t value_dim = Scaled(config, "hidden_size times expand_v", spec.hidden,
                                   config.Double("expand_v", 1, 0.001, 1024));
  mixer.key_dim =
      CheckedQuotient(config, "hidden_size times expand_k", key_dim, "num_heads", mixer.heads);
  mixer.value_dim =
      CheckedQuotient(config, "hidden_size times expand_v", value_dim, "num_heads", mixer.heads);
  mixer.shift_rank = config.Int("proj_low_rank_dim", 32);
  mixer.decay_rank = config.Int("gate_low_rank_dim", 64);
  mixer.norm_eps = norm.eps;

  LayerSpec layer;
  layer.mixer_norm = layer.mlp_norm = norm;
  layer.mlp.kind = MlpSpec::Kind::kRwkv6ChannelMix;
  const std::optional<int64_t> width = config.OptionalInt("intermediate_size", std::nullopt);
  const double ratio = config.OptionalDouble("hidden_ratio", 3.5, 0.001, 1024).value_or(3.5);
  layer.mlp.width =
      width ? *width : (Scaled(config, "the MLP's width", spec.hidden, ratio) + 31) / 32 * 32;
  CheckedProduct(config, "an MLP weight", layer.mlp.width, spec.hidden);
  layer.mlp.activation =
      config.Choose<Activation>("hidden_act", "sqrelu", {{"sqrelu", Activation::kSquaredRelu}});
  for (LayerSpec& item : spec.layers) item = layer;
  if (config.Bool("norm_first", true)) spec.layers[0].pre_norm = norm;
  SetMixers(config, spec, mixer);
  return spec;
}

}  // namespace natsl::model_adapters
