// What code outside the per-target namespaces may assume of vectors.
#pragma once

#include <cstdint>

namespace natsl::kernels {

/// Floats of the longest vector that any compiled target has.
constexpr int64_t kMaxVectorFloats = 16;

}  // namespace natsl::kernels
