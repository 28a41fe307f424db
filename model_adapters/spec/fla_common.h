// Parts that the families of flash-linear-attention share: sizes, block, MLP, hybrid attention.
#pragma once

#include <optional>
#include <vector>

#include "model_adapters/spec/config_reader.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::model_adapters {

/// Class defaults in which the families differ.
struct FlaDefaults {
  int64_t layers = 24;
  double hidden_ratio = 4;
  double norm_eps = 1e-6;
};

/// Reads the fields that all these families have and returns a spec whose layers hold norms and a
/// gated MLP; mixers are still to be set. Also marks the inert keys.
ModelSpec FlaSkeleton(ConfigReader& config, const FlaDefaults& defaults);

/// The `attn` field (an object or a list of them): softmax attention for the layers it lists,
/// nothing for the others. Unknown fields go to spec.ignored_keys.
std::vector<std::optional<AttentionSpec>> HybridAttention(ConfigReader& config, ModelSpec& spec);

/// `use_short_conv` and `conv_size`.
std::optional<ConvSpec> ShortConv(ConfigReader& config, bool absent, Activation activation);

/// `feature_map` of GLA and RetNet.
Activation FeatureMap(ConfigReader& config);

/// Sets every layer's mixer to `mixer` but where `attn` lists attention.
void SetMixers(ConfigReader& config, ModelSpec& spec, const MixerSpec& mixer);

/// Gated DeltaNet's fields, shared with NAtS-L.
DeltaNetSpec GatedDeltaNetMixer(ConfigReader& config, double norm_eps);

/// Rotary embedding over a whole head; the width must be even.
RopeSpec PlainRope(const ConfigReader& config, double base, int64_t dims);

/// head_dim^-0.5.
double InverseRoot(int64_t dims);

}  // namespace natsl::model_adapters
