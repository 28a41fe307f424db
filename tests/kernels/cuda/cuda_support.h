// What the CUDA kernels' tests share: device memory with guards, both element types, comparison.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/cuda/common.h"
#include "tests/kernels/mixer_support.h"

namespace natsl::kernels::cuda::testing {

using kernels::testing::Floats;
using kernels::testing::Random;

inline bool HasDevice() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/// Skips where the machine has no CUDA device.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasDevice()) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

inline uint16_t ToBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits += 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>(bits >> 16);
}
inline float FromBits(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Device memory of `count` elements, filled with 0xff bytes (NaN) and followed by guard bytes.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    Check(cudaMalloc(&data_, bytes + kGuard), "cudaMalloc");
    Check(cudaMemset(data_, 0xff, bytes + kGuard), "cudaMemset");
  }
  Memory(const void* host, size_t bytes) : Memory(bytes) {
    Check(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
  }
  Memory(const Memory&) = delete;
  ~Memory() {
    std::vector<unsigned char> guard(kGuard);
    EXPECT_EQ(cudaMemcpy(guard.data(), static_cast<char*>(data_) + bytes_, kGuard,
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    for (const unsigned char byte : guard) {
      if (byte != 0xff) {
        ADD_FAILURE() << "memory behind " << bytes_ << " bytes was written";
        break;
      }
    }
    cudaFree(data_);
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuard = 256;
  void* data_ = nullptr;
  size_t bytes_;
};

template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values)
      : count_(values.size()), memory_(values.data(), values.size() * sizeof(T)) {}
  explicit Array(int64_t count) : count_(static_cast<size_t>(count)), memory_(count_ * sizeof(T)) {}
  T* data() const { return static_cast<T*>(memory_.data()); }
  std::vector<T> Values() const {
    std::vector<T> values(count_);
    Check(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    return values;
  }

 private:
  size_t count_;
  Memory memory_;
};

/// Activations of `dtype`: floats on the host side.
class Activations {
 public:
  Activations(DType dtype, const Floats& values) : dtype_(dtype), count_(values.size()) {
    if (dtype == DType::kFloat32) {
      memory_ = std::make_unique<Memory>(values.data(), count_ * 4);
    } else {
      std::vector<uint16_t> bits;
      for (const float x : values) bits.push_back(ToBits(x));
      memory_ = std::make_unique<Memory>(bits.data(), count_ * 2);
    }
  }
  Activations(DType dtype, int64_t count)
      : dtype_(dtype),
        count_(static_cast<size_t>(count)),
        memory_(std::make_unique<Memory>(count_ * static_cast<size_t>(core::ByteSize(dtype)))) {}
  void* data() const { return memory_->data(); }
  Floats Values() const {
    Floats values(count_);
    if (dtype_ == DType::kFloat32) {
      Check(cudaMemcpy(values.data(), data(), count_ * 4, cudaMemcpyDeviceToHost), "copy");
    } else {
      std::vector<uint16_t> bits(count_);
      Check(cudaMemcpy(bits.data(), data(), count_ * 2, cudaMemcpyDeviceToHost), "copy");
      for (size_t i = 0; i < count_; ++i) values[i] = FromBits(bits[i]);
    }
    return values;
  }

 private:
  DType dtype_;
  size_t count_;
  std::unique_ptr<Memory> memory_;
};

/// What the device sees of `values`: rounded to dtype.
inline Floats Rounded(DType dtype, Floats values) {
  if (dtype == DType::kBFloat16) {
    for (float& x : values) x = FromBits(ToBits(x));
  }
  return values;
}

/// ||actual - expected|| / ||expected||, and no value further off than 32 times that on average.
/// What isn't finite is expected as it is.
inline void ExpectNear(const Floats& actual, const Floats& expected, double tolerance,
                       const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  if (expected.empty()) return;
  double error = 0, norm = 0, worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(expected[i]) || !std::isfinite(actual[i])) {
      ASSERT_TRUE(actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])))
          << what << " at " << i << ": " << actual[i] << ", expected " << expected[i];
      continue;
    }
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    error += difference * difference;
    norm += static_cast<double>(expected[i]) * expected[i];
    if (difference > worst) {
      worst = difference;
      where = i;
    }
  }
  const auto count = static_cast<double>(expected.size());
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30) << what;
  EXPECT_LE(worst, 32 * tolerance * std::sqrt(norm / count) + 1e-30)
      << what << " at " << where << ": " << actual[where] << ", expected " << expected[where];
}

/// Relative tolerance: float32 arithmetic, or bfloat16 operands.
inline double Tolerance(DType dtype) { return dtype == DType::kFloat32 ? 2e-5 : 8e-3; }

inline const std::vector<DType> kTypes = {DType::kFloat32, DType::kBFloat16};

/// A parameter's numbers, as the end of a test's name.
inline std::string NameOf(DType dtype) { return std::string(core::Name(dtype)); }
inline std::string NameOf(int64_t value) { return std::to_string(value); }
template <typename... Parts>
std::string NameOf(const std::tuple<Parts...>& parts) {
  return std::apply(
      [](const auto&... part) {
        std::string name;
        ((name += (name.empty() ? "" : "_") + NameOf(part)), ...);
        return name;
      },
      parts);
}
constexpr auto kNamed = [](const auto& test) { return NameOf(test.param); };

/// A packed batch's offsets, positions and plan on the device.
struct PlannedBatch {
  PlannedBatch(const std::vector<int64_t>& offsets, const std::vector<int64_t>& first)
      : sequences(static_cast<int64_t>(first.size())),
        device_offsets(offsets),
        device_first(first),
        memory(static_cast<size_t>(ChunkPlanBytes(offsets.back(), sequences))) {
    plan = BuildChunkPlan(device_offsets.data(), device_first.data(), sequences, offsets.back(),
                          memory.data(), nullptr);
  }
  int64_t sequences;
  Array<int64_t> device_offsets, device_first;
  Memory memory;
  ChunkPlan plan;
};

inline void Synchronize() { Check(cudaDeviceSynchronize(), "the kernels"); }

}  // namespace natsl::kernels::cuda::testing
