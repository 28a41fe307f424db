// llama, qwen3, mistral and smollm3: one skeleton, pre-norm attention and a gated MLP.
#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/hf_common.h"

namespace natsl::model_adapters {
namespace {

struct DenseDefaults {
  CommonDefaults common;
  HfAttentionDefaults attention;
  int64_t width = 11008;
  double rope_base = 10000;
  bool attention_bias = true;  ///< the family has the field
  bool mlp_bias = false;       ///< the family has the field
};

/// The model with the same attention in every layer, without windows.
ModelSpec DenseSkeleton(ConfigReader& config, const DenseDefaults& defaults) {
  ModelSpec spec = CommonSkeleton(config, defaults.common);
  config.Inert({"pretraining_tp"});
  NormSpec norm;
  norm.eps = config.Double("rms_norm_eps", 1e-6, 0, 1);
  spec.final_norm = norm;
  AttentionSpec mixer =
      HfAttention(config, spec.hidden, defaults.attention, defaults.attention_bias);
  mixer.rope = HfRope(config, RopeField(config), mixer.head_dim, {.base = defaults.rope_base},
                      spec.max_positions);
  LayerSpec layer;
  layer.mixer_norm = layer.mlp_norm = norm;
  layer.mixer = mixer;
  layer.mlp.width = config.Int("intermediate_size", defaults.width);
  CheckedProduct(config, "an MLP weight", layer.mlp.width, spec.hidden);
  layer.mlp.activation = HfActivation(config, "hidden_act", "silu");
  if (defaults.mlp_bias) layer.mlp.bias = config.Bool("mlp_bias", false);
  for (LayerSpec& item : spec.layers) item = layer;
  return spec;
}

AttentionSpec& Attention(LayerSpec& layer) { return std::get<AttentionSpec>(layer.mixer); }

}  // namespace

ModelSpec ParseLlama(ConfigReader& config) {
  return DenseSkeleton(config, {.common = {.layers = 32,
                                           .vocabulary = 32000,
                                           .hidden = 4096,
                                           .max_positions = 2048,
                                           .bos = 1,
                                           .eos = 2},
                                .attention = {.heads = 32, .kv_heads = {}, .head_dim = {}},
                                .mlp_bias = true});
}

ModelSpec ParseMistral(ConfigReader& config) {
  ModelSpec spec = DenseSkeleton(config, {.common = {.layers = 32,
                                                     .vocabulary = 32000,
                                                     .hidden = 4096,
                                                     .max_positions = 131072,
                                                     .bos = 1,
                                                     .eos = 2},
                                          .attention = {.heads = 32, .kv_heads = 8, .head_dim = {}},
                                          .width = 14336,
                                          .attention_bias = false});
  const std::optional<int64_t> window = config.OptionalInt("sliding_window", 4096);
  for (LayerSpec& layer : spec.layers) Attention(layer).window = window;
  return spec;
}

ModelSpec ParseQwen3(ConfigReader& config) {
  ModelSpec spec =
      DenseSkeleton(config, {.common = {.layers = 32,
                                        .vocabulary = 151936,
                                        .hidden = 4096,
                                        .max_positions = 32768,
                                        .bos = {},
                                        .eos = {}},
                             .attention = {.heads = 32, .kv_heads = 32, .head_dim = 128},
                             .width = 22016});
  const bool windows = config.Bool("use_sliding_window", false);
  const std::optional<int64_t> window = config.OptionalInt("sliding_window", 4096);
  const int64_t first = config.OptionalInt("max_window_layers", 28, 0).value_or(kMaxSize);
  const auto listed = SlidingLayers(config, spec.layers.size());
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& mixer = Attention(spec.layers[i]);
    mixer.qk_norm = spec.final_norm;
    const bool sliding = listed ? (*listed)[i] : std::cmp_greater_equal(i, first);
    if (windows && sliding) mixer.window = window;
  }
  return spec;
}

ModelSpec ParseSmolLm3(ConfigReader& config) {
  ModelSpec spec = DenseSkeleton(config, {.common = {.layers = 36,
                                                     .vocabulary = 128256,
                                                     .hidden = 2048,
                                                     .max_positions = 32768,
                                                     .bos = 128000,
                                                     .eos = 128001,
                                                     .tied_head = true},
                                          .attention = {.heads = 16, .kv_heads = 4, .head_dim = {}},
                                          .rope_base = 2000000,
                                          .mlp_bias = true});
  config.Inert({"max_window_layers"});
  const bool windows = config.Bool("use_sliding_window", false);
  const std::optional<int64_t> window = config.OptionalInt("sliding_window", std::nullopt);
  const int64_t interval = config.Int("no_rope_layer_interval", 4);
  std::vector<int64_t> rotated;  // 1: the layer turns q and k, whatever the key's name says
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    rotated.push_back((static_cast<int64_t>(i) + 1) % interval != 0);
  }
  rotated = config.Ints("no_rope_layers", rotated, 0, 1);
  if (rotated.size() != spec.layers.size()) {
    throw config.Wrong("no_rope_layers",
                       fmt::format("{} numbers, one a layer", spec.layers.size()));
  }
  const auto listed = SlidingLayers(config, spec.layers.size());
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    AttentionSpec& mixer = Attention(spec.layers[i]);
    if (rotated[i] == 0) mixer.rope.reset();
    const bool sliding = listed ? (*listed)[i] : rotated[i] == 0;
    if (windows && sliding) mixer.window = window;
  }
  return spec;
}

std::span<const NameRule> HfDenseNames() {
  static constexpr NameRule kRules[] = {
      {"model.embed_tokens.", "embeddings."},
      {"model.norm.", "final_norm."},
      {"lm_head.", "head."},
      {"model.layers.{i}.input_layernorm.", "layers.{i}.mixer_norm."},
      {"model.layers.{i}.post_attention_layernorm.", "layers.{i}.mlp_norm."},
      {"model.layers.{i}.self_attn.", "layers.{i}.mixer."},
      {"model.layers.{i}.mlp.", "layers.{i}.mlp."},
  };
  return kRules;
}

}  // namespace natsl::model_adapters
