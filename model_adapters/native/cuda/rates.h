// What a device has and reaches: memory by LibTorch's allocator, a matrix product, a copy.
#pragma once

#include "model_adapters/native/cuda/engine.h"

namespace natsl::model_adapters::native::cuda {

DeviceMemory MemoryOf(const Engine& engine);
/// A product of the model's dtype and a copy; some tenths of a second. In a CallGuard. Throws
/// c10::OutOfMemoryError where there are no 3 GiB.
DeviceRates RatesOf(const Engine& engine);

}  // namespace natsl::model_adapters::native::cuda
