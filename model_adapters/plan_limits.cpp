// How much a model of a spec takes on at once: bounded by the memory of its sequences' states.
#include <algorithm>

#include "model_adapters/generate_groups.h"
#include "model_adapters/score_plan.h"

namespace natsl::model_adapters {
namespace {

// Memory for states: of a pass's sequences in one layer, and of sequences that wait for children.
constexpr int64_t kPassStateBytes = int64_t{512} << 20;
constexpr int64_t kHeldStateBytes = int64_t{1} << 30;
constexpr int64_t kMostSequences = 1024;
constexpr int64_t kMostGenerating = 64;

int64_t Bounded(int64_t budget, int64_t bytes_each, int64_t most) {
  return std::clamp<int64_t>(bytes_each == 0 ? most : budget / bytes_each, 1, most);
}

int64_t ConvBytes(const std::optional<ConvSpec>& conv, int64_t channels) {
  return conv ? (conv->width - 1) * channels * 4 : 0;
}

struct FixedBytes {
  int64_t hidden;

  int64_t operator()(const AttentionSpec&) const { return 0; }
  int64_t operator()(const DeltaNetSpec& s) const {
    return s.value_heads * s.key_dim * s.value_dim * 4 +
           ConvBytes(s.conv, 2 * s.heads * s.key_dim + s.value_heads * s.value_dim);
  }
  int64_t operator()(const NatsSpec& s) const {
    const int64_t state = s.delta.value_heads * s.delta.key_dim * s.delta.value_dim * 4;
    return (*this)(s.delta) + state + s.delta.value_heads * 4 + hidden * 4;
  }
  int64_t operator()(const LinearAttentionSpec& s) const {
    return s.heads * s.key_dim * s.value_dim * 4 +
           ConvBytes(s.conv, s.heads * s.key_dim + s.kv_heads * (s.key_dim + s.value_dim));
  }
  int64_t operator()(const HgrnSpec& s) const {
    return s.width * 4 + ConvBytes(s.conv, 2 * s.width);
  }
  int64_t operator()(const Mamba2Spec& s) const {
    const int64_t inner = s.heads * s.head_dim;
    return (inner * s.state + (s.conv_width - 1) * (inner + 2 * s.groups * s.state)) * 4;
  }
  int64_t operator()(const Rwkv6Spec& s) const {
    return (s.heads * s.key_dim * s.value_dim + hidden) * 4;
  }
};

int64_t StateBytesOf(const ModelSpec& spec) {
  int64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers) bytes += FixedStateBytes(layer, spec.hidden);
  return bytes;
}

}  // namespace

int64_t FixedStateBytes(const LayerSpec& layer, int64_t hidden) {
  const int64_t shift = layer.mlp.kind == MlpSpec::Kind::kRwkv6ChannelMix ? hidden * 4 : 0;
  return std::visit(FixedBytes{hidden}, layer.mixer) + shift;
}

PlanLimits LimitsFor(const ModelSpec& spec, const OpenOptions& options) {
  int64_t largest = 0;
  for (const LayerSpec& layer : spec.layers) {
    largest = std::max(largest, FixedStateBytes(layer, spec.hidden));
  }
  PlanLimits limits;
  limits.batch_tokens = options.batch_tokens;
  limits.max_sequences = Bounded(kPassStateBytes, largest, kMostSequences);
  limits.max_held = Bounded(kHeldStateBytes, StateBytesOf(spec), kMostSequences);
  limits.share_prefixes = options.share_prefixes;
  limits.deterministic = options.deterministic;
  return limits;
}

GenerateLimits GenerateLimitsFor(const ModelSpec& spec, const OpenOptions& options) {
  GenerateLimits limits;
  limits.batch_tokens = options.batch_tokens;
  limits.max_sequences =
      options.deterministic ? 1 : Bounded(kHeldStateBytes, StateBytesOf(spec), kMostGenerating);
  limits.share_prefixes = options.share_prefixes && !options.deterministic;
  return limits;
}

}  // namespace natsl::model_adapters
