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

OverlappedLaunch::OverlappedLaunch(dim3 grid, dim3 block, int64_t shared_bytes, cudaStream_t stream,
                                   unsigned cluster) {
  config_.gridDim = grid;
  config_.blockDim = block;
  config_.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config_.stream = stream;
  config_.attrs = attributes_;
  if (DeviceCapability() < 90) return;
  attributes_[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes_[0].val.programmaticStreamSerializationAllowed = 1;
  config_.numAttrs = 1;
  if (cluster == 1) return;
  attributes_[1].id = cudaLaunchAttributeClusterDimension;
  attributes_[1].val.clusterDim.x = cluster;
  attributes_[1].val.clusterDim.y = attributes_[1].val.clusterDim.z = 1;
  config_.numAttrs = 2;
}

}  // namespace natsl::kernels::cuda
