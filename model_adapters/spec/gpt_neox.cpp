// gpt_neox (Pythia): LayerNorms, biases, partial rotary embedding, parallel residual.
#include <cmath>

#include "model_adapters/spec/common_keys.h"
#include "model_adapters/spec/family.h"
#include "model_adapters/spec/hf_common.h"

namespace natsl::model_adapters {

ModelSpec ParseGptNeox(ConfigReader& config) {
  ModelSpec spec = CommonSkeleton(config, {.layers = 44,
                                           .vocabulary = 50432,
                                           .hidden = 6144,
                                           .max_positions = 2048,
                                           .bos = 0,
                                           .eos = 2});
  config.Inert({"attention_dropout", "hidden_dropout", "classifier_dropout"});
  NormSpec norm;
  norm.kind = NormKind::kLayer;
  norm.bias = true;
  norm.eps = config.Double("layer_norm_eps", 1e-5, 0, 1);
  spec.final_norm = norm;

  AttentionSpec mixer;
  mixer.heads = mixer.kv_heads = config.Int("num_attention_heads", 64);
  mixer.head_dim =
      CheckedQuotient(config, "hidden_size", spec.hidden, "num_attention_heads", mixer.heads);
  mixer.scale = 1 / std::sqrt(static_cast<double>(mixer.head_dim));
  mixer.qkv_bias = mixer.o_bias = config.Bool("attention_bias", true);
  mixer.rope = HfRope(
      config, RopeField(config), mixer.head_dim,
      {.base = 10000, .partial = 0.25, .base_key = "rotary_emb_base", .partial_key = "rotary_pct"},
      spec.max_positions);

  LayerSpec layer;
  layer.mixer_norm = layer.mlp_norm = norm;
  layer.mixer = mixer;
  layer.mlp.kind = MlpSpec::Kind::kPlain;
  layer.mlp.width = config.Int("intermediate_size", 24576);
  CheckedProduct(config, "an MLP weight", layer.mlp.width, spec.hidden);
  layer.mlp.activation = HfActivation(config, "hidden_act", "gelu");
  layer.mlp.bias = true;
  layer.parallel_residual = config.Bool("use_parallel_residual", true);
  for (LayerSpec& item : spec.layers) item = layer;
  return spec;
}

std::span<const NameRule> GptNeoxNames() {
  static constexpr NameRule kRules[] = {
      {"gpt_neox.embed_in.", "embeddings."},
      {"gpt_neox.final_layer_norm.", "final_norm."},
      {"embed_out.", "head."},
      {"gpt_neox.layers.{i}.input_layernorm.", "layers.{i}.mixer_norm."},
      {"gpt_neox.layers.{i}.post_attention_layernorm.", "layers.{i}.mlp_norm."},
      {"gpt_neox.layers.{i}.attention.query_key_value.", "layers.{i}.mixer.query_key_value."},
      {"gpt_neox.layers.{i}.attention.dense.", "layers.{i}.mixer.o_proj."},
      {"gpt_neox.layers.{i}.mlp.dense_h_to_4h.", "layers.{i}.mlp.up_proj."},
      {"gpt_neox.layers.{i}.mlp.dense_4h_to_h.", "layers.{i}.mlp.down_proj."},
  };
  return kRules;
}

}  // namespace natsl::model_adapters
