// Questions to the CUDA runtime.
#include "model_adapters/native/cuda/device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include "model_adapters/native/cuda/engine_kernels.h"

namespace natsl::model_adapters::native::cuda {
Machine ReadMachine(const std::string& device) {
  Machine machine;
  if (cudaDriverGetVersion(&machine.driver_version) != cudaSuccess) machine.driver_version = 0;
  if (cudaRuntimeGetVersion(&machine.runtime_version) != cudaSuccess) machine.runtime_version = 0;
  // Not at::hasCUDA: that asks for a device too.
  machine.libtorch_has_cuda = at::detail::getCUDAHooks().hasCUDART();
  if (cudaGetDeviceCount(&machine.devices) != cudaSuccess) machine.devices = 0;
  static_cast<void>(cudaGetLastError());  // a failure above is reported by CheckMachine
  const int index = DeviceIndex(device);
  if (index >= machine.devices) return machine;
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, index) == cudaSuccess) {
    machine.capability = properties.major * 10 + properties.minor;
  }
  if (cudaSetDevice(index) == cudaSuccess) {
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
      machine.free_bytes = static_cast<int64_t>(free);
      machine.total_bytes = static_cast<int64_t>(total);
    }
    machine.kernels_run = KernelsRunHere();
  }
  static_cast<void>(cudaGetLastError());
  return machine;
}

}  // namespace natsl::model_adapters::native::cuda
