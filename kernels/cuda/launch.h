// Host side of every launch: argument checks, alignment, sizes of the device.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

/// Throws natsl::Error (internal) with `message` unless `ok`.
void Require(bool ok, const char* message);

/// After a launch: throws where it failed.
void CheckLaunch(const char* what);

/// Multiprocessors of the current device.
int DeviceProcessors();
/// Shared memory in bytes that a block of the current device may have.
int DeviceSharedBytes();
/// Compute capability of the current device, e.g. 90.
int DeviceCapability();

/// Lets `kernel` use `bytes` of dynamic shared memory.
void AllowShared(const void* kernel, int64_t bytes);

/// A launch that may begin before the kernel in front of it in the stream has ended, on Hopper
/// (programmatic dependent launch). Its kernel must await its inputs (AwaitPrevious in device.cuh)
/// before it reads what earlier kernels of the same chain write, and before it writes anything.
class OverlappedLaunch {
 public:
  /// `cluster`: blocks along x that run together, a divisor of grid.x.
  OverlappedLaunch(dim3 grid, dim3 block, int64_t shared_bytes, cudaStream_t stream,
                   unsigned cluster = 1);
  OverlappedLaunch(const OverlappedLaunch&) = delete;
  OverlappedLaunch& operator=(const OverlappedLaunch&) = delete;
  const cudaLaunchConfig_t* config() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2];
  cudaLaunchConfig_t config_ = {};
};

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t AlignUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

/// `p` (null counts) and rows `stride` elements of `bytes` apart begin at 16-byte boundaries.
inline bool Aligned(const void* p, int64_t stride, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0 && stride * bytes % 16 == 0;
}

/// Hands out parts of a workspace; with a null base it only counts bytes.
class Carver {
 public:
  explicit Carver(void* base) : base_(static_cast<char*>(base)) {}
  template <typename T>
  T* Take(int64_t count) {
    char* p = base_ == nullptr ? nullptr : base_ + used_;
    used_ += AlignUp(count * static_cast<int64_t>(sizeof(T)), 256);
    return reinterpret_cast<T*>(p);
  }
  int64_t used() const { return used_; }

 private:
  char* base_;
  int64_t used_ = 0;
};

}  // namespace natsl::kernels::cuda
