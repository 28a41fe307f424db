// What a device has and reaches: memory by LibTorch's allocator, a matrix product, a copy.
#pragma once

#include "model_adapters/native/cuda/engine.h"

namespace natsl::model_adapters::native::cuda {

DeviceMemory MemoryOf(const Engine& engine);
/// Runs for about a second. In a CallGuard.
DeviceRates RatesOf(const Engine& engine);

}  // namespace natsl::model_adapters::native::cuda
