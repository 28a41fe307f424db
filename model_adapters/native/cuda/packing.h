// A pass's small arrays, side by side in one pinned buffer and one copy to the device.
#pragma once

#include <cstring>
#include <span>

#include "model_adapters/native/cuda/tensors.h"

namespace natsl::model_adapters::native::cuda {

class Packer {
 public:
  /// `bytes`: enough for all arrays, each rounded up to 16 bytes.
  explicit Packer(int64_t bytes)
      : host_(at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(true))) {}

  static int64_t Rounded(int64_t bytes) { return (bytes + 15) / 16 * 16; }

  /// Copies `values` in; returns their offset.
  template <typename T>
  int64_t Add(std::span<const T> values) {
    const int64_t offset = used_;
    std::memcpy(host_.data_ptr<uint8_t>() + offset, values.data(), values.size_bytes());
    used_ += Rounded(static_cast<int64_t>(values.size_bytes()));
    return offset;
  }
  void Send() { device_ = host_.to(at::kCUDA, /*non_blocking=*/true); }
  template <typename T>
  const T* On(int64_t offset) const {
    return reinterpret_cast<const T*>(device_.data_ptr<uint8_t>() + offset);
  }

 private:
  at::Tensor host_, device_;
  int64_t used_ = 0;
};

}  // namespace natsl::model_adapters::native::cuda
