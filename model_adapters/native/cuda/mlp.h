// Channel mixers on the device.
#pragma once

#include <memory>
#include <string>

#include "model_adapters/native/cuda/ops.h"

namespace natsl::model_adapters::native::cuda {

class Mlp {
 public:
  virtual ~Mlp() = default;
  virtual at::Tensor Forward(Hidden& h, const Pass& pass) const = 0;
};

/// Null for MlpSpec::Kind::kNone. `prefix`: "layers.3.mlp.".
std::unique_ptr<Mlp> MakeMlp(const MlpSpec& spec, const DeviceLoader& loader,
                             const std::string& prefix, int64_t hidden, StatePool& pool);

}  // namespace natsl::model_adapters::native::cuda
