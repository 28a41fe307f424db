// Parameters, work and state by the spec.
#include "model_adapters/spec/accounting.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check.h"
#include "model_adapters/spec/checkpoint.h"

namespace natsl::model_adapters {
namespace {

double Real(int64_t value) { return static_cast<double>(value); }

/// Keys and values of NAtS-L a token, over all attention heads.
int64_t NatsKvWidth(const NatsSpec& mixer) {
  return mixer.delta.heads * mixer.delta.key_dim + mixer.delta.value_heads * mixer.delta.value_dim;
}
/// Complete chunks kept for softmax attention, of `complete` ones.
int64_t KeptChunks(int64_t complete, double share) { return std::llround(Real(complete) * share); }

int64_t ConvChannels(const DeltaNetSpec& mixer) {
  return 2 * mixer.heads * mixer.key_dim + mixer.value_heads * mixer.value_dim;
}
int64_t ConvChannels(const LinearAttentionSpec& mixer) {
  const bool hgrn2 = mixer.family == LinearAttentionSpec::Family::kHgrn2;
  const int64_t kv_heads = hgrn2 ? mixer.heads : mixer.kv_heads;
  return mixer.heads * mixer.key_dim + kv_heads * (mixer.key_dim + mixer.value_dim);
}
int64_t ConvChannels(const Mamba2Spec& mixer) {
  return mixer.heads * mixer.head_dim + 2 * mixer.groups * mixer.state;
}
double ConvFlops(const std::optional<ConvSpec>& conv, int64_t channels) {
  return conv ? 2 * Real(conv->width) * Real(channels) : 0;
}

/// Work of a mixer beside its projections.
struct MixingFlops {
  int64_t context;
  double softmax_share;

  double operator()(const AttentionSpec& mixer) const {
    const int64_t keys = std::min(context, mixer.window.value_or(context));
    return 4 * Real(mixer.heads * mixer.head_dim) * Real(keys);
  }
  double operator()(const DeltaNetSpec& mixer) const {
    // Predict, update and read the state: a multiply-add an element each; decay: a product.
    const double per_element = mixer.decay ? 7 : 6;
    return per_element * Real(mixer.value_heads) * Real(mixer.key_dim * mixer.value_dim) +
           ConvFlops(mixer.conv, ConvChannels(mixer));
  }
  double operator()(const NatsSpec& mixer) const {
    const int64_t complete = (context - 1) / mixer.chunk;
    const int64_t own = context - complete * mixer.chunk;
    const int64_t keys = KeptChunks(complete, softmax_share) * mixer.chunk + own;
    return (*this)(mixer.delta) + 2 * Real(NatsKvWidth(mixer)) * Real(keys);
  }
  double operator()(const LinearAttentionSpec& mixer) const {
    return 5 * Real(mixer.heads) * Real(mixer.key_dim * mixer.value_dim) +
           ConvFlops(mixer.conv, ConvChannels(mixer));
  }
  double operator()(const HgrnSpec& mixer) const {
    return 2 * Real(mixer.width) + ConvFlops(mixer.conv, 2 * mixer.width);
  }
  double operator()(const Mamba2Spec& mixer) const {
    return 5 * Real(mixer.heads) * Real(mixer.head_dim * mixer.state) +
           2 * Real(mixer.conv_width) * Real(ConvChannels(mixer));
  }
  double operator()(const Rwkv6Spec& mixer) const {
    return 5 * Real(mixer.heads) * Real(mixer.key_dim * mixer.value_dim);
  }
};

constexpr int64_t kStateBytes = 4;  // float32, whatever the activations are

/// State of a mixer; channel mixes have theirs beside.
struct MixerState {
  int64_t length, activation_bytes;
  double softmax_share;
  int64_t hidden;

  StateBytes operator()(const AttentionSpec& mixer) const {
    const int64_t tokens = std::min(length, mixer.window.value_or(length));
    return {.kv = 2 * mixer.kv_heads * mixer.head_dim * activation_bytes * tokens};
  }
  StateBytes operator()(const DeltaNetSpec& mixer) const {
    return {.recurrent = mixer.value_heads * mixer.key_dim * mixer.value_dim * 4,
            .convolution = Conv(mixer.conv, ConvChannels(mixer))};
  }
  StateBytes operator()(const NatsSpec& mixer) const {
    StateBytes bytes = (*this)(mixer.delta);
    // State now and at the chunk's start, the chunk's decay, and the sum of its inputs.
    bytes.recurrent = 2 * bytes.recurrent + mixer.delta.value_heads * 4 + hidden * 4;
    const int64_t pages = KeptChunks(length / mixer.chunk, softmax_share) + (length > 0 ? 1 : 0);
    bytes.kv = pages * mixer.chunk * NatsKvWidth(mixer) * activation_bytes;
    return bytes;
  }
  StateBytes operator()(const LinearAttentionSpec& mixer) const {
    return {.recurrent = mixer.heads * mixer.key_dim * mixer.value_dim * 4,
            .convolution = Conv(mixer.conv, ConvChannels(mixer))};
  }
  StateBytes operator()(const HgrnSpec& mixer) const {
    return {.recurrent = mixer.width * 4, .convolution = Conv(mixer.conv, 2 * mixer.width)};
  }
  StateBytes operator()(const Mamba2Spec& mixer) const {
    return {.recurrent = mixer.heads * mixer.head_dim * mixer.state * 4,
            .convolution = ConvChannels(mixer) * (mixer.conv_width - 1) * kStateBytes};
  }
  StateBytes operator()(const Rwkv6Spec& mixer) const {
    return {.recurrent = mixer.heads * mixer.key_dim * mixer.value_dim * 4,
            .convolution = hidden * kStateBytes};
  }

  int64_t Conv(const std::optional<ConvSpec>& conv, int64_t channels) const {
    return conv ? channels * (conv->width - 1) * kStateBytes : 0;
  }
};

int64_t Elements(const SlotSpec& slot) {
  int64_t count = 1;
  for (const int64_t size : slot.shape) count *= size;
  return count;
}

/// Layer index and the rest of "layers.I.REST"; nothing for the model's own slots.
std::optional<std::pair<size_t, std::string_view>> SplitLayer(std::string_view slot) {
  constexpr std::string_view kPrefix = "layers.";
  if (!slot.starts_with(kPrefix)) return std::nullopt;
  const size_t dot = slot.find('.', kPrefix.size());
  const std::string index(slot.substr(kPrefix.size(), dot - kPrefix.size()));
  return std::pair(static_cast<size_t>(std::stoull(index)), slot.substr(dot + 1));
}

}  // namespace

ParameterCounts CountParameters(const ModelSpec& spec) {
  ParameterCounts counts;
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    const int64_t elements = Elements(slot);
    const auto place = SplitLayer(slot.slot);
    if (!place) {
      (slot.slot.starts_with("embeddings.") ? counts.embeddings
       : slot.slot.starts_with("head.")     ? counts.head
       : slot.slot == "lower_bounds"        ? counts.other
                                            : counts.norms) += elements;
      continue;
    }
    const auto& [layer, name] = *place;
    if (name.starts_with("mlp.")) {
      counts.mlps += elements;
    } else if (!name.starts_with("mixer.")) {
      counts.norms += elements;
    } else {
      const MixerSpec& mixer = spec.layers[layer].mixer;
      (std::holds_alternative<AttentionSpec>(mixer) ? counts.softmax_mixers
       : std::holds_alternative<NatsSpec>(mixer)    ? counts.mixed_mixers
                                                    : counts.linear_mixers) += elements;
    }
  }
  return counts;
}

TokenFlops FlopsPerToken(const ModelSpec& spec, int64_t context, double softmax_share) {
  NATSL_CHECK(context >= 1 && softmax_share >= 0 && softmax_share <= 1);
  TokenFlops flops;
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    if (slot.shape.size() != 2) continue;
    const auto place = SplitLayer(slot.slot);
    if (!place) continue;
    const auto& [layer, name] = *place;
    // Tables that are added or scaled by, not multiplied with.
    if (name == "mixer.x_bias" || name == "mixer.bonus") continue;
    (name.starts_with("mlp.") ? flops.mlps : flops.projections) += 2 * Real(Elements(slot));
  }
  flops.head = 2 * Real(spec.vocabulary * spec.hidden);
  for (const LayerSpec& layer : spec.layers) {
    flops.mixing += std::visit(MixingFlops{context, softmax_share}, layer.mixer);
  }
  return flops;
}

StateBytes StateBytesAt(const ModelSpec& spec, int64_t length, int64_t activation_bytes,
                        double softmax_share) {
  NATSL_CHECK(length >= 0 && activation_bytes > 0 && softmax_share >= 0 && softmax_share <= 1);
  StateBytes total;
  for (const LayerSpec& layer : spec.layers) {
    const StateBytes bytes =
        std::visit(MixerState{length, activation_bytes, softmax_share, spec.hidden}, layer.mixer);
    total.kv += bytes.kv;
    total.recurrent += bytes.recurrent;
    total.convolution += bytes.convolution;
    if (layer.mlp.kind == MlpSpec::Kind::kRwkv6ChannelMix) {
      total.convolution += spec.hidden * kStateBytes;
    }
  }
  return total;
}

std::string_view MixerName(const MixerSpec& mixer) {
  struct Namer {
    std::string_view operator()(const AttentionSpec& spec) const {
      return spec.window ? "sliding-window attention" : "softmax attention";
    }
    std::string_view operator()(const DeltaNetSpec& spec) const {
      return spec.decay ? "gated DeltaNet" : "DeltaNet";
    }
    std::string_view operator()(const NatsSpec&) const { return "NAtS-L"; }
    std::string_view operator()(const LinearAttentionSpec& spec) const {
      return spec.family == LinearAttentionSpec::Family::kGla      ? "GLA"
             : spec.family == LinearAttentionSpec::Family::kRetNet ? "RetNet"
                                                                   : "HGRN2";
    }
    std::string_view operator()(const HgrnSpec&) const { return "HGRN"; }
    std::string_view operator()(const Mamba2Spec&) const { return "Mamba2"; }
    std::string_view operator()(const Rwkv6Spec&) const { return "RWKV6"; }
  };
  return std::visit(Namer{}, mixer);
}

ModelDescription Describe(const ModelSpec& spec) {
  ModelDescription description;
  description.family = spec.family;
  description.layers = static_cast<int64_t>(spec.layers.size());
  description.parameters = CountParameters(spec);
  int64_t softmax = 0, mixed = 0;
  for (const LayerSpec& layer : spec.layers) {
    ++description.layer_kinds[std::string(MixerName(layer.mixer))];
    softmax += std::holds_alternative<AttentionSpec>(layer.mixer);
    mixed += std::holds_alternative<NatsSpec>(layer.mixer);
  }
  description.softmax_layer_share = Real(softmax) / Real(description.layers);
  description.mixed_layer_share = Real(mixed) / Real(description.layers);
  return description;
}

}  // namespace natsl::model_adapters
