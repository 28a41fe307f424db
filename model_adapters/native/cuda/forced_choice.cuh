// Forced choices on the device; the CPU's are native/model_info.h's ForcedChoice. Included by .cu
// only.
#pragma once

#include <cstdint>

namespace natsl::model_adapters::native::cuda {

__device__ inline bool Forced(int64_t layer, int64_t chunk, int64_t head, double share) {
  uint64_t z = static_cast<uint64_t>(layer) * 0x9E3779B97F4A7C15u +
               static_cast<uint64_t>(chunk) * 0xC2B2AE3D27D4EB4Fu +
               static_cast<uint64_t>(head) * 0x165667B19E3779F9u + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53 < share;
}

}  // namespace natsl::model_adapters::native::cuda
