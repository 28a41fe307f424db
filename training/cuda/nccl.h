// Averaging over the GPUs of a host by NCCL, whose library comes with LibTorch's CUDA parts. Its
// header doesn't: the few functions used are looked up by name (their interface is stable C).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "training/loop/device.h"

namespace natsl::training {

class NcclGroup {
 public:
  /// Waits until all ranks are there. Rank 0 leaves the group's key in the file `meeting`.
  NcclGroup(Rank rank, const std::string& meeting);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  /// Mean over ranks of `count` float32 numbers on the device, in place, on `stream`.
  void Average(float* data, int64_t count, cudaStream_t stream);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* communicator_ = nullptr;
};

}  // namespace natsl::training
