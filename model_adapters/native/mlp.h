// The channel mixers: gated and plain MLPs, RWKV6's channel mix.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/native/ops.h"

namespace natsl::model_adapters::native {

class Mlp {
 public:
  virtual ~Mlp() = default;
  virtual at::Tensor Forward(const at::Tensor& h, Batch& batch, int64_t layer) const = 0;
};

/// Null for MlpSpec::Kind::kNone. `prefix`: "layers.3.mlp.".
std::unique_ptr<Mlp> MakeMlp(const MlpSpec& spec, const WeightLoader& loader,
                             const std::string& prefix);

}  // namespace natsl::model_adapters::native
