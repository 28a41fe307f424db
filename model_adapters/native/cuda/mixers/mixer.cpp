// The table of mixers.
#include "model_adapters/native/cuda/mixers/mixer.h"

namespace natsl::model_adapters::native::cuda {
namespace {

struct MixerTable {
  const MixerContext& context;
  auto operator()(const AttentionSpec& spec) const { return MakeAttention(spec, context); }
  auto operator()(const DeltaNetSpec& spec) const { return MakeDeltaNet(spec, context); }
  auto operator()(const NatsSpec& spec) const { return MakeNats(spec, context); }
  auto operator()(const LinearAttentionSpec& spec) const {
    return MakeLinearAttention(spec, context);
  }
  auto operator()(const HgrnSpec& spec) const { return MakeHgrn(spec, context); }
  auto operator()(const Mamba2Spec& spec) const { return MakeMamba2(spec, context); }
  auto operator()(const Rwkv6Spec& spec) const { return MakeRwkv6(spec, context); }
};

}  // namespace

std::unique_ptr<Mixer> MakeMixer(const MixerSpec& spec, const MixerContext& context) {
  return std::visit(MixerTable{context}, spec);
}

}  // namespace natsl::model_adapters::native::cuda
