// Checks of launches, and what they need to know of the device.
#include "kernels/cuda/launch.h"

#include "core/error.h"

namespace natsl::kernels::cuda {
namespace {

int Attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  Check(cudaGetDevice(&device), "cudaGetDevice");
  Check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw InternalError("{}: CUDA reports {} ({})", what, cudaGetErrorString(status),
                      cudaGetErrorName(status));
}

void Require(bool ok, const char* message) {
  if (!ok) throw InternalError("{}", message);
}

void CheckLaunch(const char* what) { Check(cudaGetLastError(), what); }

int DeviceProcessors() {
  static const int value = Attribute(cudaDevAttrMultiProcessorCount);
  return value;
}

int DeviceSharedBytes() {
  static const int value = Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return value;
}

int DeviceCapability() {
  static const int value = 10 * Attribute(cudaDevAttrComputeCapabilityMajor) +
                           Attribute(cudaDevAttrComputeCapabilityMinor);
  return value;
}

void AllowShared(const void* kernel, int64_t bytes) {
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
}

}  // namespace natsl::kernels::cuda
