// Which weights a spec has, and their shapes.
#include <fmt/format.h>

#include "model_adapters/spec/checkpoint.h"

namespace natsl::model_adapters {
namespace {

/// Collects slots under a prefix.
class SlotList {
 public:
  SlotList(std::vector<SlotSpec>& slots, std::string prefix)
      : slots_(slots), prefix_(std::move(prefix)) {}

  void Add(std::string_view name, std::vector<int64_t> shape) {
    slots_.push_back({prefix_ + std::string(name), std::move(shape)});
  }
  void Linear(std::string_view name, int64_t out, int64_t in, bool bias = false) {
    Add(std::string(name) + ".weight", {out, in});
    if (bias) Add(std::string(name) + ".bias", {out});
  }
  void Norm(std::string_view name, const NormSpec& norm, int64_t width) {
    if (!norm.affine) return;
    Add(std::string(name) + ".weight", {width});
    if (norm.bias) Add(std::string(name) + ".bias", {width});
  }
  void Conv(std::string_view name, const std::optional<ConvSpec>& conv, int64_t channels) {
    if (!conv) return;
    Add(std::string(name) + ".weight", {channels, 1, conv->width});
    if (conv->bias) Add(std::string(name) + ".bias", {channels});
  }

 private:
  std::vector<SlotSpec>& slots_;
  std::string prefix_;
};

void AddMixer(SlotList& list, int64_t hidden, const AttentionSpec& mixer) {
  const int64_t width = mixer.heads * mixer.head_dim;
  const int64_t kv_width = mixer.kv_heads * mixer.head_dim;
  list.Linear("q_proj", width, hidden, mixer.qkv_bias);
  list.Linear("k_proj", kv_width, hidden, mixer.qkv_bias);
  list.Linear("v_proj", kv_width, hidden, mixer.qkv_bias);
  list.Linear("o_proj", hidden, width, mixer.o_bias);
  if (mixer.qk_norm) {
    list.Norm("q_norm", *mixer.qk_norm, mixer.head_dim);
    list.Norm("k_norm", *mixer.qk_norm, mixer.head_dim);
  }
}

/// All of DeltaNet but its output norm, whose slots differ in NAtS-L.
void AddDelta(SlotList& list, int64_t hidden, const DeltaNetSpec& mixer) {
  const int64_t key_width = mixer.heads * mixer.key_dim;
  const int64_t value_width = mixer.value_heads * mixer.value_dim;
  list.Linear("q_proj", key_width, hidden);
  list.Linear("k_proj", key_width, hidden);
  list.Linear("v_proj", value_width, hidden);
  if (mixer.use_beta) list.Linear("b_proj", mixer.value_heads, hidden);
  if (mixer.decay) {
    list.Linear("a_proj", mixer.value_heads, hidden);
    list.Add("A_log", {mixer.value_heads});
    list.Add("dt_bias", {mixer.value_heads});
  }
  list.Conv("q_conv1d", mixer.conv, key_width);
  list.Conv("k_conv1d", mixer.conv, key_width);
  list.Conv("v_conv1d", mixer.conv, value_width);
  if (mixer.output_gate) list.Linear("g_proj", value_width, hidden);
  list.Linear("o_proj", hidden, value_width);
}

void AddMixer(SlotList& list, int64_t hidden, const DeltaNetSpec& mixer) {
  AddDelta(list, hidden, mixer);
  list.Norm("o_norm", mixer.output_norm, mixer.value_dim);
}

void AddMixer(SlotList& list, int64_t hidden, const NatsSpec& mixer) {
  AddDelta(list, hidden, mixer.delta);
  const int64_t key_width = mixer.delta.heads * mixer.delta.key_dim;
  const int64_t value_width = mixer.delta.value_heads * mixer.delta.value_dim;
  const int64_t key_dim = key_width / mixer.attention_heads;
  const int64_t value_dim = value_width / mixer.attention_heads;
  list.Linear("nats_layer", 2 * mixer.nats_heads, hidden);
  list.Linear("nats_out_weights_layer", 2 * mixer.attention_heads, key_width);
  if (mixer.attention_qk_norm) {
    list.Norm("q_norm", *mixer.attention_qk_norm, key_dim);
    list.Norm("k_norm", *mixer.attention_qk_norm, key_dim);
  }
  if (mixer.delta.output_gate) {
    list.Add("o_norm.weight1", {value_dim});
    list.Add("o_norm.weight2", {value_dim});
  } else {
    list.Add("o_norm.0.weight", {mixer.delta.value_dim});
    list.Add("o_norm.1.weight", {value_dim});
  }
}

void AddMixer(SlotList& list, int64_t hidden, const LinearAttentionSpec& mixer) {
  const int64_t key_width = mixer.heads * mixer.key_dim;
  const int64_t value_width = mixer.heads * mixer.value_dim;
  list.Linear("q_proj", key_width, hidden);
  if (mixer.family == LinearAttentionSpec::Family::kHgrn2) {
    list.Linear("f_proj", key_width, hidden);
    list.Linear("i_proj", value_width, hidden);
    list.Conv("q_conv1d", mixer.conv, key_width);
    list.Conv("f_conv1d", mixer.conv, key_width);
    list.Conv("i_conv1d", mixer.conv, value_width);
    list.Norm("g_norm", mixer.output_norm, value_width);
  } else {
    const int64_t kv_keys = mixer.kv_heads * mixer.key_dim;
    const int64_t kv_values = mixer.kv_heads * mixer.value_dim;
    list.Linear("k_proj", kv_keys, hidden);
    list.Linear("v_proj", kv_values, hidden);
    if (mixer.family == LinearAttentionSpec::Family::kGla) {
      list.Linear("gk_proj.0", mixer.decay_rank, hidden);
      list.Linear("gk_proj.1", kv_keys, mixer.decay_rank, true);
    }
    list.Conv("q_conv1d", mixer.conv, key_width);
    list.Conv("k_conv1d", mixer.conv, kv_keys);
    list.Conv("v_conv1d", mixer.conv, kv_values);
    if (mixer.output_gate) list.Linear("g_proj", value_width, hidden);
    list.Norm("g_norm", mixer.output_norm, mixer.value_dim);
  }
  list.Linear("o_proj", hidden, value_width);
}

void AddMixer(SlotList& list, int64_t hidden, const HgrnSpec& mixer) {
  list.Linear("i_proj", mixer.width, hidden);
  list.Linear("f_proj", mixer.width, hidden);
  list.Linear("g_proj", mixer.width, hidden);
  list.Conv("i_conv1d", mixer.conv, mixer.width);
  list.Conv("f_conv1d", mixer.conv, mixer.width);
  list.Norm("g_norm", mixer.output_norm, mixer.width);
  list.Linear("o_proj", hidden, mixer.width);
}

void AddMixer(SlotList& list, int64_t hidden, const Mamba2Spec& mixer) {
  const int64_t inner = mixer.heads * mixer.head_dim;
  const int64_t channels = inner + 2 * mixer.groups * mixer.state;
  list.Linear("in_proj", inner + channels + mixer.heads, hidden, mixer.projection_bias);
  list.Add("conv1d.weight", {channels, 1, mixer.conv_width});
  if (mixer.conv_bias) list.Add("conv1d.bias", {channels});
  list.Add("dt_bias", {mixer.heads});
  list.Add("A_log", {mixer.heads});
  list.Add("D", {mixer.d_has_head_dim ? inner : mixer.heads});
  if (mixer.gated_norm) list.Add("norm.weight", {inner});
  list.Linear("out_proj", hidden, inner, mixer.projection_bias);
}

void AddMixer(SlotList& list, int64_t hidden, const Rwkv6Spec& mixer) {
  const int64_t key_width = mixer.heads * mixer.key_dim;
  const int64_t value_width = mixer.heads * mixer.value_dim;
  list.Add("x_proj.0.mu", {hidden});
  list.Linear("x_proj.0.linear", 5 * mixer.shift_rank, hidden);
  list.Linear("x_proj.2", hidden, 5 * mixer.shift_rank);
  list.Add("x_bias", {5, hidden});
  list.Linear("r_proj.linear", key_width, hidden);
  list.Linear("k_proj.linear", key_width, hidden);
  list.Linear("v_proj.linear", value_width, hidden);
  list.Linear("g_proj.linear", value_width, hidden);
  list.Linear("w_proj.linear.lora.0", mixer.decay_rank, hidden);
  list.Linear("w_proj.linear.lora.2", key_width, mixer.decay_rank, true);
  list.Add("bonus", {mixer.heads, mixer.key_dim});
  list.Add("g_norm.weight", {value_width});
  list.Add("g_norm.bias", {value_width});
  list.Linear("o_proj", hidden, value_width);
}

void AddMlp(SlotList& list, int64_t hidden, const MlpSpec& mlp) {
  switch (mlp.kind) {
    case MlpSpec::Kind::kNone:
      return;
    case MlpSpec::Kind::kGated:
      list.Linear("gate_proj", mlp.width, hidden, mlp.bias);
      [[fallthrough]];
    case MlpSpec::Kind::kPlain:
      list.Linear("up_proj", mlp.width, hidden, mlp.bias);
      list.Linear("down_proj", hidden, mlp.width, mlp.bias);
      return;
    case MlpSpec::Kind::kRwkv6ChannelMix:
      list.Add("key.mu", {hidden});
      list.Linear("key.linear", mlp.width, hidden);
      list.Linear("value", hidden, mlp.width);
      list.Add("receptance.mu", {hidden});
      list.Linear("receptance.linear", hidden, hidden);
      return;
  }
}

}  // namespace

std::vector<SlotSpec> ExpectedSlots(const ModelSpec& spec) {
  std::vector<SlotSpec> slots;
  SlotList top(slots, "");
  top.Linear("embeddings", spec.vocabulary, spec.hidden);
  const int64_t layers = static_cast<int64_t>(spec.layers.size());
  if (spec.lower_bounds) top.Add("lower_bounds", {layers, spec.hidden});
  for (int64_t i = 0; i < layers; ++i) {
    const LayerSpec& layer = spec.layers[static_cast<size_t>(i)];
    const std::string prefix = fmt::format("layers.{}.", i);
    SlotList list(slots, prefix);
    if (layer.pre_norm) list.Norm("pre_norm", *layer.pre_norm, spec.hidden);
    list.Norm("mixer_norm", layer.mixer_norm, spec.hidden);
    SlotList mixer(slots, prefix + "mixer.");
    std::visit([&](const auto& item) { AddMixer(mixer, spec.hidden, item); }, layer.mixer);
    if (layer.mixer_post_norm) list.Norm("mixer_post_norm", *layer.mixer_post_norm, spec.hidden);
    if (layer.mlp.kind == MlpSpec::Kind::kNone) continue;
    list.Norm("mlp_norm", layer.mlp_norm, spec.hidden);
    SlotList mlp(slots, prefix + "mlp.");
    AddMlp(mlp, spec.hidden, layer.mlp);
    if (layer.mlp_post_norm) list.Norm("mlp_post_norm", *layer.mlp_post_norm, spec.hidden);
  }
  top.Norm("final_norm", spec.final_norm, spec.hidden);
  if (!spec.tied_head) top.Linear("head", spec.vocabulary, spec.hidden);
  return slots;
}

}  // namespace natsl::model_adapters
