// The configs.
#include "tests/model_adapters/native/tiny_models.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <stdexcept>

#include "core/files.h"

namespace natsl::model_adapters::native {

const std::vector<TinyModel>& TinyModels() {
  static const std::vector<TinyModel> models = {
      {"transformer", R"("model_type": "transformer", "num_heads": 4)", false},
      {"transformer_gqa_window_bias_qknorm",
       R"("model_type": "transformer", "num_heads": 4, "num_kv_heads": 2, "qkv_bias": true,
          "qk_norm": true, "window_size": 20, "tie_word_embeddings": true)",
       false},
      {"llama_llama3_bias",
       R"("model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 96, "head_dim": 24, "attention_bias": true, "mlp_bias": true,
          "rope_theta": 500.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 256})",
       false},
      {"qwen3_yarn",
       R"("model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 96, "head_dim": 24, "rope_theta": 1000.0, "rope_scaling":
          {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64})",
       false},
      {"mistral_window",
       R"("model_type": "mistral", "num_attention_heads": 4, "num_key_value_heads": 1,
          "intermediate_size": 96, "sliding_window": 70)",
       false},
      {"gemma3",
       R"("model_type": "gemma3_text", "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 24, "intermediate_size": 96, "query_pre_attn_scalar": 20,
          "sliding_window": 16, "sliding_window_pattern": 2, "final_logit_softcapping": 3.0,
          "rope_scaling": {"rope_type": "linear", "factor": 8.0})",
       false},
      {"smollm3",
       R"("model_type": "smollm3", "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 96, "no_rope_layer_interval": 2)",
       false},
      {"gpt_neox_parallel",
       R"("model_type": "gpt_neox", "num_attention_heads": 4, "intermediate_size": 96,
          "rotary_pct": 0.25, "use_parallel_residual": true)",
       false},
      {"gpt_neox_sequential",
       R"("model_type": "gpt_neox", "num_attention_heads": 4, "intermediate_size": 96,
          "use_parallel_residual": false, "attention_bias": false, "hidden_act": "gelu_new")",
       false},
      {"gated_deltanet", R"("model_type": "gated_deltanet", "num_heads": 2, "head_dim": 32)", true},
      {"gated_deltanet_gva_negative",
       R"("model_type": "gated_deltanet", "num_heads": 2, "num_v_heads": 4, "head_dim": 16,
          "allow_neg_eigval": true, "use_gate": false, "use_short_conv": false)",
       true},
      {"gated_deltanet_hybrid",
       R"("model_type": "gated_deltanet", "num_heads": 2, "head_dim": 32, "attn": {"layers": [1],
          "num_heads": 4, "num_kv_heads": 2, "qkv_bias": true, "window_size": 30,
          "rope_theta": 1000.0})",
       false},
      {"delta_net", R"("model_type": "delta_net", "num_heads": 2)", true},
      {"delta_net_sum_elu_gate",
       R"("model_type": "delta_net", "num_heads": 2, "qk_norm": "sum", "qk_activation": "elu",
          "use_gate": true, "use_beta": false, "expand_k": 0.5)",
       true},
      {"natsl", R"("model_type": "neural_attention_search_linear_attn_gdn", "num_heads": 2,
          "head_dim": 32, "num_attn_heads": 4, "attn_qk_norm": true,
          "decay_for_non_gdn_blocks": true, "attn_with_short_conv": true,
          "attn_apply_pos_encoding": false)",
       false},
      {"natsl_hybrid_rope_no_decay_raw",
       R"("model_type": "neural_attention_search_linear_attn_gdn", "num_heads": 2, "head_dim": 32,
          "num_attn_heads": 4, "gdn_layers": [1], "conv_bias": true)",
       false},
      {"natsl_gva_no_gate_no_conv",
       R"("model_type": "neural_attention_search_linear_attn_gdn", "num_heads": 2, "head_dim": 16,
          "num_v_heads": 4, "num_attn_heads": 4, "num_nats_head": 2, "use_gate": false,
          "use_short_conv": false, "allow_neg_eigval": true)",
       false},
      {"natsl_own_attention",
       R"("model_type": "neural_attention_search_linear_attn_gdn", "num_heads": 2, "head_dim": 32,
          "num_attn_heads": 4, "ops_for_incomplete_chunks": "attn",
          "decay_for_non_gdn_blocks": true)",
       false},
      {"natsl_own_delta",
       R"("model_type": "neural_attention_search_linear_attn_gdn", "num_heads": 2, "head_dim": 32,
          "num_attn_heads": 4, "ops_for_incomplete_chunks": "gated_delta_net")",
       false},
      {"gla", R"("model_type": "gla", "num_heads": 2)", true},
      {"gla_grouped_conv_map_clamp",
       R"("model_type": "gla", "num_heads": 4, "num_kv_heads": 2, "use_short_conv": true,
          "feature_map": "relu", "clamp_min": -0.05, "elementwise_affine": false)",
       true},
      {"gla_no_gate", R"("model_type": "gla", "num_heads": 2, "use_output_gate": false)", true},
      {"retnet", R"("model_type": "retnet", "num_heads": 2)", true},
      {"retnet_grouped_map",
       R"("model_type": "retnet", "num_heads": 4, "num_kv_heads": 2, "feature_map": "silu",
          "use_output_gate": false)",
       true},
      {"hgrn", R"("model_type": "hgrn")", true},
      {"hgrn_conv_unbounded",
       R"("model_type": "hgrn", "use_short_conv": true, "use_lower_bound": false)", true},
      {"hgrn2", R"("model_type": "hgrn2", "expand_ratio": 32)", true},
      {"hgrn2_conv_hybrid",
       R"("model_type": "hgrn2", "expand_ratio": 16, "use_short_conv": true,
          "attn": {"layers": [0], "num_heads": 4})",
       false},
      {"mamba2",
       R"("model_type": "mamba2", "norm_eps": 1e-5, "head_dim": 32, "state_size": 16,
          "dt_limit": [0.0, Infinity])",
       true},
      {"mamba2_groups_bias_ungated",
       R"("model_type": "mamba2", "norm_eps": 1e-5, "head_dim": 32, "state_size": 16,
          "n_groups": 2, "use_bias": true, "use_conv_bias": false, "rmsnorm": false,
          "D_has_hdim": true)",
       true},
      {"mamba2_norm_before_gate",
       R"("model_type": "mamba2", "norm_eps": 1e-5, "head_dim": 32, "state_size": 16,
          "n_groups": 2, "norm_before_gate": true)",
       true},
      {"rwkv6", R"("model_type": "rwkv6", "num_heads": 2)", true},
      {"rwkv6_hybrid_no_pre_norm",
       R"("model_type": "rwkv6", "num_heads": 2, "norm_first": false, "norm_bias": false,
          "attn": {"layers": [1], "num_heads": 4})",
       false},
  };
  return models;
}

const TinyModel& Tiny(const std::string& name) {
  for (const TinyModel& model : TinyModels()) {
    if (model.name == name) return model;
  }
  throw std::invalid_argument("no tiny model " + name);
}

std::string TinyConfig(const TinyModel& model) {
  return fmt::format(R"({{"vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 3, {}}})",
                     model.config);
}

std::unique_ptr<NativeModel> OpenTiny(const TinyModel& model, OpenOptions options,
                                      OpenFunction open) {
  static int number = 0;
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      fmt::format("natsl_tiny_{}_{}", getpid(), number++);
  std::filesystem::create_directories(folder);
  core::WriteFileAtomic(folder / "config.json", TinyConfig(model));
  if (!options.random_weights_seed) options.random_weights_seed = 7;
  if (options.threads == 0) options.threads = 1;  // teams cost more than such small work
  auto opened = open((folder / "config.json").string(), options);
  std::filesystem::remove_all(folder);
  return opened;
}

std::vector<TokenId> RandomIds(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>(random() % 96));
  return ids;
}

}  // namespace natsl::model_adapters::native
