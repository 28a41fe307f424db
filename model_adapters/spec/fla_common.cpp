// Shared parts of the flash-linear-attention families.
#include "model_adapters/spec/fla_common.h"

#include <cmath>

#include "core/json.h"
#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"

namespace natsl::model_adapters {
namespace {

/// Width of the gated MLP: given, or 2/3 of hidden * ratio rounded up to a multiple of 256.
int64_t MlpWidth(ConfigReader& config, int64_t hidden, double default_ratio) {
  const std::optional<int64_t> given = config.OptionalInt("intermediate_size", std::nullopt);
  const double ratio =
      config.OptionalDouble("hidden_ratio", default_ratio, 0.001, 1024).value_or(4);
  if (given) return *given;
  const int64_t raw = Scaled(config, "the MLP's width", hidden, ratio * 2 / 3);
  return (raw + 255) / 256 * 256;
}

/// A family's own rules, then the common ones.
std::vector<NameRule> WithFlaNames(std::vector<NameRule> rules) {
  const std::span<const NameRule> common = FlaNames();
  rules.insert(rules.end(), common.begin(), common.end());
  return rules;
}

}  // namespace

double InverseRoot(int64_t dims) { return 1.0 / std::sqrt(static_cast<double>(dims)); }

RopeSpec PlainRope(const ConfigReader& config, double base, int64_t dims) {
  if (dims % 2 != 0) {
    throw ModelError("{}: rotary embedding over {} channels of a head, expected an even number",
                     config.where(), dims);
  }
  RopeSpec rope;
  rope.base = base;
  rope.dims = dims;
  return rope;
}

ModelSpec FlaSkeleton(ConfigReader& config, const FlaDefaults& defaults) {
  ModelSpec spec = CommonSkeleton(config, {.layers = defaults.layers,
                                           .vocabulary = 32000,
                                           .hidden = 2048,
                                           .max_positions = 2048,
                                           .bos = 1,
                                           .eos = 2});
  config.RequireNull("attnres_block_size", "attention residuals");
  config.Inert({"attn_mode", "use_cache", "initializer_range", "fuse_norm", "fuse_swiglu",
                "fuse_cross_entropy", "fuse_linear_cross_entropy", "use_l2warp", "rms_norm_eps",
                "norm_first", "share_conv_kernel", "use_gk", "use_gv", "use_output_norm"});
  NormSpec norm;
  norm.eps = config.Double("norm_eps", defaults.norm_eps, 0, 1);
  spec.final_norm = norm;
  LayerSpec layer;
  layer.mixer_norm = layer.mlp_norm = norm;
  layer.mlp.width = MlpWidth(config, spec.hidden, defaults.hidden_ratio);
  CheckedProduct(config, "an MLP weight", layer.mlp.width, spec.hidden);
  layer.mlp.activation =
      config.Choose<Activation>("hidden_act", "swish", {{"swish", Activation::kSilu}});
  for (LayerSpec& item : spec.layers) item = layer;
  return spec;
}

std::vector<std::optional<AttentionSpec>> HybridAttention(ConfigReader& config, ModelSpec& spec) {
  const int64_t count = static_cast<int64_t>(spec.layers.size());
  std::vector<std::optional<AttentionSpec>> attention(spec.layers.size());
  config.Inert({"attn"});
  if (!config.HasValue("attn")) return attention;
  const core::Json& field = config.Raw("attn");
  const core::Json list = field.is_array() ? field : core::Json::array({field});
  for (const core::Json& item : list) {
    ConfigReader attn(item, config.where() + ": \"attn\"");
    AttentionSpec mixer;
    attn.Raw("num_heads");
    mixer.heads = attn.Int("num_heads", 0);
    mixer.head_dim = CheckedQuotient(attn, "hidden_size", spec.hidden, "num_heads", mixer.heads);
    mixer.kv_heads = attn.OptionalInt("num_kv_heads", std::nullopt).value_or(mixer.heads);
    CheckedQuotient(attn, "num_heads", mixer.heads, "num_kv_heads", mixer.kv_heads);
    mixer.scale = InverseRoot(mixer.head_dim);
    mixer.qkv_bias = attn.Bool("qkv_bias", false);
    mixer.window = attn.OptionalInt("window_size", std::nullopt);
    const double base = attn.OptionalDouble("rope_theta", 10000, 1, 1e15).value_or(10000);
    mixer.rope = PlainRope(attn, base, mixer.head_dim);
    attn.Raw("layers");
    for (const int64_t layer : attn.Ints("layers", {}, 0, count - 1)) {
      std::optional<AttentionSpec>& place = attention[static_cast<size_t>(layer)];
      if (place) throw ModelError("{}: layer {} is listed twice", attn.where(), layer);
      place = mixer;
    }
    for (const std::string& key : attn.Unread()) spec.ignored_keys.push_back("attn." + key);
  }
  return attention;
}

void SetMixers(ConfigReader& config, ModelSpec& spec, const MixerSpec& mixer) {
  const auto attention = HybridAttention(config, spec);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].mixer = attention[i] ? MixerSpec(*attention[i]) : mixer;
  }
}

std::optional<ConvSpec> ShortConv(ConfigReader& config, bool absent, Activation activation) {
  const bool used = config.Bool("use_short_conv", absent);
  const int64_t width = config.Int("conv_size", 4, 1, 256);
  if (!used) return std::nullopt;
  ConvSpec conv;
  conv.width = width;
  conv.activation = activation;
  return conv;
}

Activation FeatureMap(ConfigReader& config) {
  if (!config.HasValue("feature_map")) {
    config.Inert({"feature_map"});
    return Activation::kIdentity;
  }
  return config.Choose<Activation>("feature_map", "",
                                   {{"relu", Activation::kRelu},
                                    {"sigmoid", Activation::kSigmoid},
                                    {"silu", Activation::kSilu},
                                    {"swish", Activation::kSilu},
                                    {"sqrelu", Activation::kSquaredRelu},
                                    {"logsigmoid", Activation::kLogSigmoid},
                                    {"gelu", Activation::kGeluTanh}});
}

std::span<const NameRule> FlaNames() {
  static constexpr NameRule kRules[] = {
      {"model.embeddings.", "embeddings."},
      {"model.norm.", "final_norm."},
      {"model.lower_bounds", "lower_bounds"},
      {"lm_head.", "head."},
      {"model.layers.{i}.attn_norm.", "layers.{i}.mixer_norm."},
      {"model.layers.{i}.mlp_norm.", "layers.{i}.mlp_norm."},
      {"model.layers.{i}.attn.", "layers.{i}.mixer."},
      {"model.layers.{i}.mlp.", "layers.{i}.mlp."},
  };
  return kRules;
}

std::span<const NameRule> GlaNames() {
  // Fused gate and norm have a name of their own; the plain norm's comes with the common rules.
  static const std::vector<NameRule> rules =
      WithFlaNames({{"model.layers.{i}.attn.g_norm_swish_gate.", "layers.{i}.mixer.g_norm."}});
  return rules;
}

std::span<const NameRule> Rwkv6Names() {
  static const std::vector<NameRule> rules =
      WithFlaNames({{"model.layers.{i}.pre_norm.", "layers.{i}.pre_norm."},
                    {"model.layers.{i}.ffn_norm.", "layers.{i}.mlp_norm."},
                    {"model.layers.{i}.ffn.", "layers.{i}.mlp."}});
  return rules;
}

}  // namespace natsl::model_adapters
