// Mamba2 in the two flavours that share one model_type: flash-linear-attention's and transformers'.
#include <limits>

#include "core/json.h"
#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// transformers writes layer_norm_epsilon, flash-linear-attention norm_eps.
bool IsTransformersFlavour(const ConfigReader& config) {
  if (config.Has("norm_eps") || config.Has("dt_limit") || config.Has("rmsnorm")) return false;
  return config.Has("layer_norm_epsilon") || config.Has("time_step_limit") ||
         config.Has("time_step_rank") || config.Has("rms_norm");
}

/// The first of two names of one field that the config has.
std::string_view NameOf(const ConfigReader& config, std::string_view name,
                        std::string_view legacy) {
  return config.Has(name) || !config.Has(legacy) ? name : legacy;
}

std::array<double, 2> TimeStepLimit(ConfigReader& config) {
  config.Inert({"dt_limit", "time_step_limit"});
  const std::string_view key = NameOf(config, "dt_limit", "time_step_limit");
  if (!config.HasValue(key)) return {0, kInfinity};
  const core::Json& list = config.Raw(key);
  const std::string_view expected = "two numbers, the lower one first and not negative";
  if (!list.is_array() || list.size() != 2 || !list[0].is_number() || !list[1].is_number()) {
    throw config.Wrong(key, expected);
  }
  const std::array<double, 2> limit = {list[0].get<double>(), list[1].get<double>()};
  if (!(limit[0] >= 0 && limit[0] <= limit[1] && limit[0] < kInfinity)) {
    throw config.Wrong(key, expected);
  }
  return limit;
}

}  // namespace

ModelSpec ParseMamba2(ConfigReader& config) {
  const bool hf = IsTransformersFlavour(config);
  ModelSpec spec = CommonSkeleton(config, hf ? CommonDefaults{.layers = 64,
                                                              .vocabulary = 32768,
                                                              .hidden = 4096,
                                                              .max_positions = {},
                                                              .bos = 0,
                                                              .eos = 2}
                                             : CommonDefaults{.layers = 48,
                                                              .vocabulary = 32000,
                                                              .hidden = 2048,
                                                              .max_positions = {},
                                                              .bos = 1,
                                                              .eos = 2});
  config.Inert({"dt_min", "dt_max", "dt_init_floor", "A_init_range", "time_step_min",
                "time_step_max", "time_step_floor", "time_step_init_scheme", "time_step_scale",
                "time_step_rank", "conv_init", "rescale_prenorm_residual", "chunk_size",
                "residual_in_fp32", "fuse_norm", "fuse_cross_entropy", "fuse_linear_cross_entropy",
                "use_l2warp"});
  Mamba2Spec mixer;
  const double expand = config.Double("expand", 2, 0.001, 1024);
  const int64_t inner = Scaled(config, "hidden_size times expand", spec.hidden, expand);
  mixer.head_dim = config.Int("head_dim", 64);
  const int64_t computed =
      CheckedQuotient(config, "hidden_size times expand", inner, "head_dim", mixer.head_dim);
  mixer.heads = config.Int("num_heads", hf ? 128 : computed);
  if (mixer.heads != computed) {
    throw ModelError("{}: num_heads is {}, expected {} (hidden_size times expand / head_dim)",
                     config.where(), mixer.heads, computed);
  }
  mixer.state = config.Int("state_size", 128);
  mixer.groups = config.Int("n_groups", hf ? 8 : 1);
  CheckedQuotient(config, "num_heads", mixer.heads, "n_groups", mixer.groups);
  CheckedProduct(config, "n_groups times state_size", mixer.groups, mixer.state);
  mixer.conv_width = config.Int("conv_kernel", 4, 1, 256);
  mixer.conv_bias = config.Bool("use_conv_bias", true);
  mixer.projection_bias = config.Bool("use_bias", false);
  config.Choose<int>("hidden_act", "silu", {{"silu", 0}, {"swish", 0}});
  const double eps = config.Double(NameOf(config, "norm_eps", "layer_norm_epsilon"), 1e-5, 0, 1);
  mixer.norm_eps = eps;
  if (hf) {
    config.Inert({"rms_norm", "norm_before_gate"});  // this class always norms, gate first
  } else {
    mixer.gated_norm = config.Bool(NameOf(config, "rmsnorm", "rms_norm"), true);
    mixer.norm_before_gate = config.Bool("norm_before_gate", false);
    if (mixer.norm_before_gate && !mixer.gated_norm) {
      throw config.Wrong("norm_before_gate", "false where rmsnorm is false");
    }
    mixer.d_has_head_dim = config.Bool("D_has_hdim", false);
    config.Inert({"layer_norm_epsilon", "rms_norm"});
  }
  mixer.dt_limit = TimeStepLimit(config);
  // The references clamp in prefill alone. Here a step continues what a prefill would have
  // computed, so both clamp; with the usual limits of 0 and infinity nothing differs.
  mixer.clamp_dt_in_decode = true;

  NormSpec norm;
  norm.eps = eps;
  spec.final_norm = norm;
  LayerSpec layer;
  layer.mixer_norm = norm;
  layer.mixer = mixer;
  layer.mlp.kind = MlpSpec::Kind::kNone;
  for (LayerSpec& item : spec.layers) item = layer;
  return spec;
}

std::span<const NameRule> Mamba2Names() {
  static constexpr NameRule kRules[] = {
      {"backbone.embeddings.", "embeddings."},
      {"backbone.embedding.", "embeddings."},
      {"backbone.norm_f.", "final_norm."},
      {"lm_head.", "head."},
      {"backbone.layers.{i}.norm.", "layers.{i}.mixer_norm."},
      {"backbone.layers.{i}.mixer.", "layers.{i}.mixer."},
  };
  return kRules;
}

}  // namespace natsl::model_adapters
