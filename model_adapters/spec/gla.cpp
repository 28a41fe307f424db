// GLA and RetNet: matrix states with additive updates, GLA with a learned vector decay.
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {
namespace {

struct LinearDefaults {
  int64_t heads;
  double expand_k, expand_v;
};

LinearAttentionSpec LinearMixer(ConfigReader& config, const ModelSpec& spec,
                                const LinearDefaults& defaults) {
  LinearAttentionSpec mixer;
  mixer.heads = config.Int("num_heads", defaults.heads);
  mixer.kv_heads = config.OptionalInt("num_kv_heads", std::nullopt).value_or(mixer.heads);
  CheckedQuotient(config, "num_heads", mixer.heads, "num_kv_heads", mixer.kv_heads);
  const int64_t key_dim = Scaled(config, "hidden_size times expand_k", spec.hidden,
                                 config.Double("expand_k", defaults.expand_k, 0.001, 1024));
  const int64_t value_dim = Scaled(config, "hidden_size times expand_v", spec.hidden,
                                   config.Double("expand_v", defaults.expand_v, 0.001, 1024));
  mixer.key_dim =
      CheckedQuotient(config, "hidden_size times expand_k", key_dim, "num_heads", mixer.heads);
  mixer.value_dim =
      CheckedQuotient(config, "hidden_size times expand_v", value_dim, "num_heads", mixer.heads);
  mixer.feature_map = FeatureMap(config);
  mixer.output_gate = config.Bool("use_output_gate", true);
  // hidden_act is the gate's activation too; the skeleton accepts swish only, as the MLP does.
  mixer.gate_activation = Activation::kSilu;
  mixer.output_norm.eps = spec.final_norm.eps;
  mixer.output_norm.affine = config.Bool("elementwise_affine", true);
  return mixer;
}

}  // namespace

ModelSpec ParseGla(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {});
  LinearAttentionSpec mixer = LinearMixer(config, spec, {4, 0.5, 1});
  mixer.family = LinearAttentionSpec::Family::kGla;
  mixer.conv = ShortConv(config, false, Activation::kSilu);
  mixer.clamp_min = config.OptionalDouble("clamp_min", std::nullopt, -1e30, 1e30);
  SetMixers(config, spec, mixer);
  return spec;
}

ModelSpec ParseRetNet(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {.hidden_ratio = 2});
  // The block doesn't pass the convolution's fields on.
  config.Inert({"use_short_conv", "conv_size"});
  LinearAttentionSpec mixer = LinearMixer(config, spec, {8, 1, 2});
  mixer.family = LinearAttentionSpec::Family::kRetNet;
  mixer.rope = PlainRope(config, 10000, mixer.key_dim);
  SetMixers(config, spec, mixer);
  return spec;
}

}  // namespace natsl::model_adapters
