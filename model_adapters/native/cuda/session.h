// Sessions on the device.
#pragma once

#include <memory>

#include "model_adapters/native/cuda/engine.h"

namespace natsl::model_adapters::native::cuda {

/// `batch_tokens`: a pass takes at least so many of a prompt's tokens, and more where the memory
/// has room (long prompts are faster whole).
std::unique_ptr<Session> MakeSession(std::shared_ptr<Engine> engine, int64_t batch,
                                     int64_t batch_tokens);

}  // namespace natsl::model_adapters::native::cuda
