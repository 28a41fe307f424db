// What every call from outside sets up.
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "model_adapters/native/cuda/engine.h"

namespace natsl::model_adapters::native::cuda {

/// Inference mode, the engine's device and its stream.
class CallGuard {
 public:
  explicit CallGuard(const Engine& engine)
      : stream_(c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(engine.stream()),
                                                 static_cast<c10::DeviceIndex>(engine.device()))) {}

 private:
  c10::InferenceMode inference_{true};
  c10::cuda::CUDAStreamGuard stream_;
};

}  // namespace natsl::model_adapters::native::cuda
