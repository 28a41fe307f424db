// Data parallelism for host work that isn't a kernel: tokenising, building requests, metrics.
// Kernels use OpenMP (they share LibTorch's thread team).
#pragma once

#include <cstdint>
#include <functional>

namespace natsl::core {

/// Calls body(begin, end) on disjoint ranges that cover [0, count), on up to `threads` threads
/// (0: one a hardware thread). The first exception by range order is rethrown after all have ended.
void ParallelFor(int64_t count, int threads, const std::function<void(int64_t, int64_t)>& body);

}  // namespace natsl::core
