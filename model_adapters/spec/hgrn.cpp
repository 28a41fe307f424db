// HGRN and HGRN2: gated recurrences whose forget gates have learned lower bounds by layer.
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {

ModelSpec ParseHgrn(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {});
  config.Inert({"num_heads"});
  HgrnSpec mixer;
  mixer.width = Scaled(config, "hidden_size times expand_ratio", spec.hidden,
                       config.Double("expand_ratio", 1, 0.001, 1024));
  mixer.conv = ShortConv(config, false, Activation::kIdentity);
  mixer.lower_bound = spec.lower_bounds = config.Bool("use_lower_bound", true);
  if (mixer.lower_bound && mixer.width != spec.hidden) {
    throw config.Wrong("expand_ratio", "1, since the lower bounds are as wide as hidden_size");
  }
  mixer.output_norm.eps = spec.final_norm.eps;
  mixer.output_norm.affine = config.Bool("elementwise_affine", true);
  SetMixers(config, spec, mixer);
  return spec;
}

ModelSpec ParseHgrn2(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {});
  LinearAttentionSpec mixer;
  mixer.family = LinearAttentionSpec::Family::kHgrn2;
  const std::optional<int64_t> heads = config.OptionalInt("num_heads", std::nullopt);
  const std::optional<int64_t> ratio = config.OptionalInt("expand_ratio", 128);
  if (!ratio && !heads) throw config.Wrong("expand_ratio", "a number, or one in num_heads");
  mixer.key_dim =
      ratio ? *ratio : CheckedQuotient(config, "hidden_size", spec.hidden, "num_heads", *heads);
  mixer.heads = mixer.kv_heads =
      CheckedQuotient(config, "hidden_size", spec.hidden, "expand_ratio", mixer.key_dim);
  mixer.value_dim = spec.hidden / mixer.heads;
  mixer.conv = ShortConv(config, false, Activation::kIdentity);
  mixer.output_gate = false;
  mixer.lower_bound = spec.lower_bounds = config.Bool("use_lower_bound", true);
  mixer.output_norm.eps = 1e-5;  // the reference calls its norm without an eps
  mixer.output_norm.affine = config.Bool("elementwise_affine", true);
  SetMixers(config, spec, mixer);
  return spec;
}

}  // namespace natsl::model_adapters
