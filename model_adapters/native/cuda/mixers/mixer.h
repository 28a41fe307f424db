// A token mixer of a layer on the device, and the table from its spec to its implementation.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/native/cuda/ops.h"

namespace natsl::model_adapters::native::cuda {

class Mixer {
 public:
  virtual ~Mixer() = default;
  /// h [tokens, hidden] (normed) → [tokens, hidden]; moves the pass's states on.
  virtual at::Tensor Forward(Hidden& h, const Pass& pass) const = 0;
};

/// What a mixer is built from. Slots are PREFIX + name.
struct MixerContext {
  const DeviceLoader& loader;
  StatePool& pool;
  std::string prefix;  ///< "layers.3.mixer."
  int64_t layer = 0;
  int64_t hidden = 0;
  at::Tensor lower_bound;  ///< [hidden] of this layer (HGRN, HGRN2), or undefined

  Projection Load(const std::vector<std::string>& names) const {
    return Projection(loader, prefix, names);
  }
};

std::unique_ptr<Mixer> MakeAttention(const AttentionSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeDeltaNet(const DeltaNetSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeNats(const NatsSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeLinearAttention(const LinearAttentionSpec& spec,
                                           const MixerContext& context);
std::unique_ptr<Mixer> MakeHgrn(const HgrnSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeMamba2(const Mamba2Spec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeRwkv6(const Rwkv6Spec& spec, const MixerContext& context);

std::unique_ptr<Mixer> MakeMixer(const MixerSpec& spec, const MixerContext& context);

}  // namespace natsl::model_adapters::native::cuda
