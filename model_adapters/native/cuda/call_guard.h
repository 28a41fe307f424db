// What every call from outside sets up.
#pragma once

#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/error.h"
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

/// What `body` returns, called under the guard; LibTorch's errors become ours.
template <typename Body>
auto InEngine(const Engine& engine, const Body& body) {
  const CallGuard guard(engine);
  try {
    return body();
  } catch (const c10::OutOfMemoryError&) {
    throw ModelError(
        "the memory of \"cuda:{}\" is full; use a smaller --batch-tokens, fewer or shorter inputs, "
        "or "
        "end other processes on it (nvidia-smi names them)",
        engine.device());
  } catch (const c10::Error& error) {
    throw InternalError("LibTorch: {}", error.what_without_backtrace());
  }
}

}  // namespace natsl::model_adapters::native::cuda
