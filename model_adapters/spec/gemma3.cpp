// gemma3: the text model, alone or inside the multimodal wrapper's config.
#include <cmath>

#include "core/json.h"
#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/hf_common.h"

namespace natsl::model_adapters {
namespace {

/// Which layers are local: layer_types, else every layer but each pattern-th.
std::vector<bool> LocalLayers(ConfigReader& config, size_t layers) {
  const int64_t new_name = config.Int("_sliding_window_pattern", 6);
  const int64_t pattern = config.Int("sliding_window_pattern", new_name);
  const auto listed = SlidingLayers(config, layers);
  if (listed) return *listed;
  std::vector<bool> local;
  for (size_t i = 0; i < layers; ++i) {
    local.push_back((static_cast<int64_t>(i) + 1) % pattern != 0);
  }
  return local;
}

struct Ropes {
  RopeSpec global, local;
};
/// The old dialect scales the global base only; the new one has an object for each kind of layer.
Ropes ParseRopes(ConfigReader& config, int64_t head_dim, std::optional<int64_t> max_positions) {
  const RopeDefaults global{.base = 1e6};
  const RopeDefaults local{.base = 1e4, .base_key = "rope_local_base_freq"};
  const core::Json* field = RopeField(config);
  if (!config.HasValue("rope_parameters")) {
    return {HfRope(config, field, head_dim, global, max_positions),
            HfRope(config, nullptr, head_dim, local, max_positions)};
  }
  ConfigReader kinds(*field, config.where() + ": \"rope_parameters\"");
  const auto kind = [&](std::string_view name) {
    return kinds.HasValue(name) ? &kinds.Raw(name) : nullptr;
  };
  const core::Json* full = kind("full_attention");
  const core::Json* sliding = kind("sliding_attention");
  if (full == nullptr && sliding == nullptr) {
    throw config.Wrong("rope_parameters", "full_attention and sliding_attention");
  }
  return {HfRope(config, full, head_dim, global, max_positions),
          HfRope(config, sliding, head_dim, local, max_positions)};
}

}  // namespace

ModelSpec ParseGemma3Text(ConfigReader& config) {
  ModelSpec spec = CommonSkeleton(config, {.layers = 26,
                                           .vocabulary = 262208,
                                           .hidden = 2304,
                                           .max_positions = 131072,
                                           .bos = 2,
                                           .eos = 1,
                                           .tied_head = true});
  // The class reads attn_logit_softcapping and applies it nowhere.
  config.Inert({"attn_logit_softcapping", "cache_implementation"});
  config.Require("use_bidirectional_attention", false);
  spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  spec.logit_soft_cap =
      config.OptionalDouble("final_logit_softcapping", std::nullopt, 1e-6, 1e9).value_or(0);
  NormSpec norm;
  norm.kind = NormKind::kRmsOnePlus;
  norm.eps = config.Double("rms_norm_eps", 1e-6, 0, 1);
  spec.final_norm = norm;

  AttentionSpec mixer =
      HfAttention(config, spec.hidden, {.heads = 8, .kv_heads = 4, .head_dim = 256}, true);
  mixer.scale = 1 / std::sqrt(config.Double("query_pre_attn_scalar", 256, 1e-6, 1e9));
  mixer.qk_norm = norm;
  const std::optional<int64_t> window = config.OptionalInt("sliding_window", 4096);
  const Ropes ropes = ParseRopes(config, mixer.head_dim, spec.max_positions);
  const std::vector<bool> local = LocalLayers(config, spec.layers.size());

  LayerSpec layer;
  layer.mixer_norm = layer.mlp_norm = norm;
  layer.mixer_post_norm = layer.mlp_post_norm = norm;
  layer.mlp.width = config.Int("intermediate_size", 9216);
  CheckedProduct(config, "an MLP weight", layer.mlp.width, spec.hidden);
  layer.mlp.activation = HfActivation(config, "hidden_activation", "gelu_pytorch_tanh");
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    mixer.window = local[i] ? window : std::nullopt;
    mixer.rope = local[i] ? ropes.local : ropes.global;
    layer.mixer = mixer;
    spec.layers[i] = layer;
  }
  return spec;
}

ModelSpec ParseGemma3(ConfigReader& config) {
  config.Inert({"text_config", "vision_config", "boi_token_index", "eoi_token_index",
                "image_token_index", "mm_tokens_per_image", "initializer_range", "architectures",
                "torch_dtype", "dtype", "transformers_version", "model_type", "pad_token_id"});
  ConfigReader text(config.Raw("text_config"), config.where() + ": \"text_config\"");
  ModelSpec spec = ParseGemma3Text(text);
  // For the language head of the wrapper its own field decides.
  if (config.HasValue("tie_word_embeddings")) {
    spec.tied_head = config.Bool("tie_word_embeddings", true);
  }
  config.Inert({"tie_word_embeddings", "bos_token_id", "eos_token_id"});
  for (const std::string& key : text.Unread()) spec.ignored_keys.push_back("text_config." + key);
  return spec;
}

std::span<const NameRule> Gemma3Names() {
  static constexpr NameRule kRules[] = {
      {"model.embed_tokens.", "embeddings."},
      {"model.norm.", "final_norm."},
      {"lm_head.", "head."},
      {"model.layers.{i}.input_layernorm.", "layers.{i}.mixer_norm."},
      {"model.layers.{i}.post_attention_layernorm.", "layers.{i}.mixer_post_norm."},
      {"model.layers.{i}.pre_feedforward_layernorm.", "layers.{i}.mlp_norm."},
      {"model.layers.{i}.post_feedforward_layernorm.", "layers.{i}.mlp_post_norm."},
      {"model.layers.{i}.self_attn.", "layers.{i}.mixer."},
      {"model.layers.{i}.mlp.", "layers.{i}.mlp."},
  };
  return kRules;
}

}  // namespace natsl::model_adapters
