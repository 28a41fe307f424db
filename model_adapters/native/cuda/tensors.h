// Small helpers between at::Tensor and the kernels' raw pointers.
#pragma once

#include <cuda_runtime_api.h>

#include "core/dtype.h"
#include "model_adapters/native/torch_headers.h"

namespace natsl::model_adapters::native::cuda {

/// The stream that LibTorch's operators of this thread launch on.
cudaStream_t CurrentStream();

inline core::DType DTypeOfTensor(const at::Tensor& t) {
  return t.scalar_type() == at::kBFloat16 ? core::DType::kBFloat16 : core::DType::kFloat32;
}
inline at::ScalarType ScalarTypeOf(core::DType dtype) {
  return dtype == core::DType::kBFloat16 ? at::kBFloat16 : at::kFloat;
}

/// Uninitialised memory on the current device.
inline at::Tensor EmptyOn(at::IntArrayRef shape, at::ScalarType type) {
  return at::empty(shape, at::TensorOptions(at::kCUDA).dtype(type));
}
inline at::Tensor EmptyBytes(int64_t bytes) { return EmptyOn({bytes}, at::kByte); }

inline float* FloatsOrNull(const at::Tensor& t) {
  return t.defined() ? t.data_ptr<float>() : nullptr;
}
inline void* DataOrNull(const at::Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }

/// Columns [begin, begin + width) of a matrix, as a view.
inline at::Tensor Columns(const at::Tensor& x, int64_t begin, int64_t width) {
  return x.narrow(1, begin, width);
}

}  // namespace natsl::model_adapters::native::cuda
