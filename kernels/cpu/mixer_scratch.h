// The calling thread's scratch memory: aligned, reused from call to call, never shrunk.
#pragma once

#include <cstdint>

namespace natsl::kernels {

/// At least `count` floats, 64-byte aligned, with unspecified content. A later call on the same
/// thread invalidates the pointer.
float* ThreadScratch(int64_t count);

}  // namespace natsl::kernels
