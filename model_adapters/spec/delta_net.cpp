// DeltaNet, pure and with softmax attention layers.
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {

ModelSpec ParseDeltaNet(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {});
  DeltaNetSpec mixer;
  mixer.heads = mixer.value_heads = config.Int("num_heads", 16);
  const int64_t key_dim = Scaled(config, "hidden_size times expand_k", spec.hidden,
                                 config.Double("expand_k", 1, 0.001, 1024));
  const int64_t value_dim = Scaled(config, "hidden_size times expand_v", spec.hidden,
                                   config.Double("expand_v", 1, 0.001, 1024));
  mixer.key_dim =
      CheckedQuotient(config, "hidden_size times expand_k", key_dim, "num_heads", mixer.heads);
  mixer.value_dim =
      CheckedQuotient(config, "hidden_size times expand_v", value_dim, "num_heads", mixer.heads);
  mixer.use_beta = config.Bool("use_beta", true);
  mixer.negative_eigenvalues = config.Bool("allow_neg_eigval", false);
  mixer.output_gate = config.Bool("use_gate", false);
  mixer.conv = ShortConv(config, true, Activation::kSilu);
  mixer.qk_activation = config.Choose<Activation>("qk_activation", "silu",
                                                  {{"silu", Activation::kSilu},
                                                   {"relu", Activation::kRelu},
                                                   {"elu", Activation::kEluPlusOne},
                                                   {"identity", Activation::kIdentity}});
  mixer.qk_norm = config.Choose<DeltaNetSpec::QkNorm>(
      "qk_norm", "l2", {{"l2", DeltaNetSpec::QkNorm::kL2}, {"sum", DeltaNetSpec::QkNorm::kSum}});
  mixer.output_norm.eps = spec.final_norm.eps;
  SetMixers(config, spec, mixer);
  return spec;
}

}  // namespace natsl::model_adapters
