// What the training loop asks of a device: recording a step, moving batches, averaging gradients.
// The CPU's lives here; CUDA's is a module of its own, loaded when asked for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace natsl::training {

/// Where one of several processes stands.
struct Rank {
  int64_t index = 0, count = 1;
};

class TrainDevice {
 public:
  virtual ~TrainDevice() = default;

  virtual at::Device device() const = 0;
  virtual std::string Description() const = 0;

  /// A host buffer that Upload copies from without blocking.
  virtual at::Tensor HostBuffer(at::IntArrayRef sizes) const = 0;  ///< int64
  /// Begins to copy `host` into `target`; `slot` (from 0) names the buffer for WaitUploaded.
  virtual void Upload(const at::Tensor& host, at::Tensor& target, int64_t slot) = 0;
  /// Returns once the last Upload of this slot was read: the buffer may be filled again.
  virtual void WaitUploaded(int64_t slot) = 0;

  /// A step that runs again and again over the same tensors: recorded once as a CUDA graph (after
  /// the first runs, which run as they are), or simply called.
  using Body = std::function<void()>;
  virtual std::unique_ptr<std::function<void()>> Record(Body body) = 0;

  /// Makes `sum` the mean over all ranks. Part of a recorded step.
  virtual void AverageOverRanks(at::Tensor& sum) = 0;
  virtual void Synchronize() = 0;
  /// Most device memory held at once, in bytes; 0 where it isn't known.
  virtual int64_t PeakMemoryBytes() const = 0;
};

/// `device`: cpu, cuda or cuda:N. Several ranks (CUDA alone): rank i uses GPU i; `meeting` is a
/// file path beside which rank 0 leaves the key by which the others find it. Throws Error (usage)
/// where there is no such device.
std::unique_ptr<TrainDevice> OpenTrainDevice(const std::string& device, Rank rank,
                                             const std::string& meeting);

/// Exported by natsl_train_cuda. The caller owns the device.
using OpenCudaTrainDeviceFunction = TrainDevice* (*)(int64_t gpu, Rank, const std::string& meeting);
constexpr const char* kOpenCudaTrainDeviceSymbol = "natsl_open_cuda_train_device";

}  // namespace natsl::training
