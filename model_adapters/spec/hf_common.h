// Parts that the transformers families share: rotary embedding in both config dialects, layer
// kinds, activations, attention.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model_adapters/spec/config_reader.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters {

/// What the family and the layer say of a rotary embedding.
struct RopeDefaults {
  double base = 10000;
  double partial = 1;                        ///< share of a head's channels that turns
  std::string_view base_key = "rope_theta";  ///< top-level names
  std::string_view partial_key = "partial_rotary_factor";
};

/// Rotary embedding of a head from `scaling` (rope_parameters or rope_scaling; null: none given)
/// and the top-level keys. `max_positions` is yarn's original length where none is stated.
RopeSpec HfRope(ConfigReader& config, const nlohmann::ordered_json* scaling, int64_t head_dim,
                const RopeDefaults& defaults, std::optional<int64_t> max_positions);

/// rope_parameters, else rope_scaling, else null.
const nlohmann::ordered_json* RopeField(ConfigReader& config);

/// `hidden_act` or another key by its transformers name.
Activation HfActivation(ConfigReader& config, std::string_view key, std::string_view absent);

/// True for the layers that `layer_types` calls sliding_attention; nothing where the key is absent.
std::optional<std::vector<bool>> SlidingLayers(ConfigReader& config, size_t layers);

/// Class defaults of the dense attention fields.
struct HfAttentionDefaults {
  int64_t heads = 32;
  std::optional<int64_t> kv_heads;
  std::optional<int64_t> head_dim;
};
/// Heads, widths, scale and `attention_bias` (read where `has_bias`); no window, no RoPE yet.
AttentionSpec HfAttention(ConfigReader& config, int64_t hidden, const HfAttentionDefaults& defaults,
                          bool has_bias);

}  // namespace natsl::model_adapters
