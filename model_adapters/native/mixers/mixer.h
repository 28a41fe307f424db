// A token mixer of a layer, and the table from its spec to its implementation.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/native/ops.h"

namespace natsl::model_adapters::native {

class Mixer {
 public:
  virtual ~Mixer() = default;
  /// h [tokens, hidden] (normed) → [tokens, hidden]; reads and updates layer `layer` of the
  /// batch's states.
  virtual at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const = 0;
};

/// What a mixer is built from. Slots are PREFIX + name.
struct MixerContext {
  const WeightLoader& loader;
  std::string prefix;  ///< "layers.3.mixer."
  int64_t layer = 0;
  int64_t hidden = 0;
  at::Tensor lower_bound;  ///< [hidden] of this layer (HGRN, HGRN2), or undefined

  Linear Load(const std::string& name) const { return Linear(loader, prefix + name); }
};

std::unique_ptr<Mixer> MakeAttention(const AttentionSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeDeltaNet(const DeltaNetSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeNats(const NatsSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeLinearAttention(const LinearAttentionSpec& spec,
                                           const MixerContext& context);
std::unique_ptr<Mixer> MakeHgrn(const HgrnSpec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeMamba2(const Mamba2Spec& spec, const MixerContext& context);
std::unique_ptr<Mixer> MakeRwkv6(const Rwkv6Spec& spec, const MixerContext& context);

/// One overload a mixer: the variant's alternatives are the table.
std::unique_ptr<Mixer> MakeMixer(const MixerSpec& spec, const MixerContext& context);

}  // namespace natsl::model_adapters::native
