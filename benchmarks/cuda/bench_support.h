// What natsl-kernel-bench's rows share: device memory, random inputs, timing by CUDA events.
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda::bench {

class Memory {
 public:
  explicit Memory(int64_t bytes) {
    Check(cudaMalloc(&data_, static_cast<size_t>(bytes + 16)), "cudaMalloc");
  }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  template <typename T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};
using MemoryRef = std::unique_ptr<Memory>;

template <typename T>
MemoryRef Upload(const std::vector<T>& values) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  auto memory = std::make_unique<Memory>(bytes);
  Check(cudaMemcpy(memory->as(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "upload");
  return memory;
}

inline uint16_t ToBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float FromBits(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

// Random values, the same for both types (rounded to bfloat16); a block of a million is repeated
// for large arrays.
inline MemoryRef Randoms(int64_t count, DType dtype, float low, float high, bool normal = true) {
  std::mt19937 engine(static_cast<uint32_t>(count));
  std::normal_distribution<float> gauss;
  std::uniform_real_distribution<float> uniform(low, high);
  const int64_t block = count < (1 << 20) ? count : (1 << 20);
  std::vector<uint16_t> bits(static_cast<size_t>(block));
  std::vector<float> floats(bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = ToBits(normal ? gauss(engine) * high : uniform(engine));
    floats[i] = FromBits(bits[i]);
  }
  const int64_t size = core::ByteSize(dtype);
  auto memory = std::make_unique<Memory>(count * size);
  for (int64_t at = 0; at < count; at += block) {
    const int64_t part = count - at < block ? count - at : block;
    Check(cudaMemcpy(memory->as<char>() + at * size,
                     size == 2 ? static_cast<const void*>(bits.data()) : floats.data(),
                     static_cast<size_t>(part * size), cudaMemcpyHostToDevice),
          "upload");
  }
  return memory;
}
inline MemoryRef Normals(int64_t count, DType dtype, float scale = 1) {
  return Randoms(count, dtype, 0, scale);
}
inline MemoryRef Uniforms(int64_t count, DType dtype, float low, float high) {
  return Randoms(count, dtype, low, high, false);
}

inline std::vector<float> Download(const Memory& memory, int64_t count, DType dtype) {
  std::vector<float> values(static_cast<size_t>(count));
  if (dtype == DType::kFloat32) {
    Check(cudaMemcpy(values.data(), memory.as(), values.size() * 4, cudaMemcpyDeviceToHost),
          "copy");
    return values;
  }
  std::vector<uint16_t> bits(values.size());
  Check(cudaMemcpy(bits.data(), memory.as(), bits.size() * 2, cudaMemcpyDeviceToHost), "copy");
  for (size_t i = 0; i < bits.size(); ++i) values[i] = FromBits(bits[i]);
  return values;
}

inline double RelativeError(const std::vector<float>& actual, const std::vector<float>& expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (static_cast<double>(actual[i]) - expected[i]) * (actual[i] - expected[i]);
    norm += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(error / norm);
}

// One sequence's plan.
struct Plan {
  explicit Plan(int64_t tokens)
      : offsets(Upload(std::vector<int64_t>{0, tokens})),
        memory(std::make_unique<Memory>(ChunkPlanBytes(tokens, 1))),
        plan(BuildChunkPlan(offsets->as<int64_t>(), nullptr, 1, tokens, memory->as(), nullptr)) {}
  MemoryRef offsets, memory;
  ChunkPlan plan;
};

struct Work {
  std::function<void()> run;
  double flops = 0, bytes = 0;
  double error = -1;  ///< relative, of the short case
};

inline void Time(benchmark::State& state, const Work& work) {
  if (!(work.error <= 1e-2)) {
    if (work.error != -1) {
      state.SkipWithError(("wrong output: relative error " + std::to_string(work.error)).c_str());
      return;
    }
  }
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int i = 0; i < 3; ++i) work.run();
  Check(cudaDeviceSynchronize(), "warm-up");
  double total = 0;
  for (auto _ : state) {
    cudaEventRecord(begin);
    work.run();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    state.SetIterationTime(ms * 1e-3);
    total += ms * 1e-3;
  }
  Check(cudaGetLastError(), "benchmark");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const double seconds = total / static_cast<double>(state.iterations());
  if (work.flops > 0) state.counters["TFLOP/s"] = work.flops / seconds * 1e-12;
  if (work.bytes > 0) state.counters["TB/s"] = work.bytes / seconds * 1e-12;
  if (work.error >= 0) state.counters["error"] = work.error;
}

template <typename Function, typename... Args>
void Add(const std::string& name, Function function, Args... args) {
  // A row that fails says so, and the others are measured all the same.
  const auto row = [=](benchmark::State& state) {
    try {
      function(state, args...);
    } catch (const std::exception& error) {
      state.SkipWithError(std::string(error.what()).substr(0, 200).c_str());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), row)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(0.05);
}

// Each file's rows.
void AddRecurrentRows();
void AddRowwiseRows();
void AddAttentionRows();
/// LibTorch's own operators, to compare with.
void AddTorchRows();

/// Tokens of a long prompt.
constexpr int64_t kLong = 131072;

}  // namespace natsl::kernels::cuda::bench
