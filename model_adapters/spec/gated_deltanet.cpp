// Gated DeltaNet, pure and with softmax attention layers.
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {

DeltaNetSpec GatedDeltaNetMixer(ConfigReader& config, double norm_eps) {
  DeltaNetSpec mixer;
  mixer.heads = config.Int("num_heads", 6);
  mixer.value_heads = config.OptionalInt("num_v_heads", std::nullopt).value_or(mixer.heads);
  CheckedQuotient(config, "num_v_heads", mixer.value_heads, "num_heads", mixer.heads);
  mixer.key_dim = config.Int("head_dim", 256);
  mixer.value_dim = Scaled(config, "head_dim times expand_v", mixer.key_dim,
                           config.Double("expand_v", 2, 0.001, 1024));
  CheckedProduct(config, "num_heads times head_dim", mixer.heads, mixer.key_dim);
  CheckedProduct(config, "value heads times their width", mixer.value_heads, mixer.value_dim);
  mixer.decay = true;
  mixer.negative_eigenvalues = config.Bool("allow_neg_eigval", false);
  mixer.output_gate = config.Bool("use_gate", true);
  mixer.conv = ShortConv(config, true, Activation::kSilu);
  mixer.output_norm.eps = norm_eps;
  return mixer;
}

ModelSpec ParseGatedDeltaNet(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {.layers = 21});
  SetMixers(config, spec, GatedDeltaNetMixer(config, spec.final_norm.eps));
  return spec;
}

}  // namespace natsl::model_adapters
