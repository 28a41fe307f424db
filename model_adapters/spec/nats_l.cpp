// NAtS-L: Gated DeltaNet and softmax attention chosen per chunk and head, all layers or with plain
// Gated DeltaNet layers between.
#include <algorithm>

#include "model_adapters/spec/family.h"
#include "model_adapters/spec/fla_common.h"

namespace natsl::model_adapters {
namespace {

NatsSpec NatsMixer(ConfigReader& config, const DeltaNetSpec& delta, double norm_eps) {
  NatsSpec mixer;
  mixer.delta = delta;
  if (mixer.delta.conv) mixer.delta.conv->bias = config.Bool("conv_bias", false);
  config.Inert({"conv_bias"});
  mixer.attention_heads = config.Int("num_attn_heads", 12);
  const int64_t key_dim = delta.heads * delta.key_dim;
  const int64_t value_dim = delta.value_heads * delta.value_dim;
  const int64_t head_dim = CheckedQuotient(config, "num_heads times head_dim", key_dim,
                                           "num_attn_heads", mixer.attention_heads);
  CheckedQuotient(config, "value heads times their width", value_dim, "num_attn_heads",
                  mixer.attention_heads);
  mixer.nats_heads = config.OptionalInt("num_nats_head", std::nullopt).value_or(delta.heads);
  CheckedQuotient(config, "num_attn_heads", mixer.attention_heads, "num_nats_head",
                  mixer.nats_heads);
  CheckedQuotient(config, "num_v_heads", delta.value_heads, "num_nats_head", mixer.nats_heads);
  const auto only = [&](std::string_view key, int64_t value) {
    const std::string text = std::to_string(value);
    const std::string_view supported[] = {text};
    if (config.Int(key, value) != value) throw config.Unsupported(key, supported);
  };
  only("n_ops", 2);
  only("nats_block_size", 64);
  config.Choose<int>("nats_block_agg_type", "mean", {{"mean", 0}});
  config.Choose<int>("nats_sample_strategy", "argmax", {{"argmax", 0}});
  mixer.own_chunk =
      config.Choose<NatsSpec::OwnChunk>("ops_for_incomplete_chunks", "all",
                                        {{"all", NatsSpec::OwnChunk::kAll},
                                         {"attn", NatsSpec::OwnChunk::kAttention},
                                         {"gated_delta_net", NatsSpec::OwnChunk::kDelta}});
  config.Require("incomplete_block_start_with_ht", true);
  mixer.decay_over_softmax_chunks = config.Bool("decay_for_non_gdn_blocks", false);
  if (config.Bool("attn_qk_norm", false)) {
    mixer.attention_qk_norm = NormSpec{};
    mixer.attention_qk_norm->eps = norm_eps;
  }
  mixer.attention_after_conv = config.Bool("attn_with_short_conv", false);
  const double base = config.OptionalDouble("attn_rope_theta", 10000, 1, 1e15).value_or(10000);
  if (config.Bool("attn_apply_pos_encoding", true)) {
    mixer.attention_rope = PlainRope(config, base, head_dim);
  }
  // The reference passes outputs_are_wighted under another name, so it never arrives.
  config.Inert({"outputs_are_wighted", "attn_max_position_embeddings", "attn",
                "compute_dnats_for_invalid_blocks_attn",
                "compute_dnats_for_invalid_blocks_linear_att"});
  return mixer;
}

}  // namespace

ModelSpec ParseNats(ConfigReader& config) {
  ModelSpec spec = FlaSkeleton(config, {.layers = 21});
  const DeltaNetSpec delta = GatedDeltaNetMixer(config, spec.final_norm.eps);
  const NatsSpec nats = NatsMixer(config, delta, spec.final_norm.eps);
  const std::vector<int64_t> plain =
      config.Ints("gdn_layers", {}, 0, static_cast<int64_t>(spec.layers.size()) - 1);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const bool is_plain = std::ranges::find(plain, static_cast<int64_t>(i)) != plain.end();
    spec.layers[i].mixer = is_plain ? MixerSpec(delta) : MixerSpec(nats);
  }
  return spec;
}

}  // namespace natsl::model_adapters
