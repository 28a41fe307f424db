// Allocator statistics; timed product and copy.
#include "model_adapters/native/cuda/rates.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>

#include "core/error.h"

namespace natsl::model_adapters::native::cuda {
namespace {

// An idle device's clocks rise under load alone; after some tenths of a second they may fall again,
// to stay below the power limit.
constexpr double kSeconds = 0.1;
constexpr int kRuns = 12;

// The shortest of at least kRuns runs in at least kSeconds, in seconds.
template <typename Body>
double Shortest(const Body& body) {
  cudaEvent_t begin, end;
  kernels::cuda::Check(cudaEventCreate(&begin), "event");
  kernels::cuda::Check(cudaEventCreate(&end), "event");
  float shortest = 0;
  double spent = 0;
  for (int run = 0; run < kRuns || spent < kSeconds; ++run) {
    kernels::cuda::Check(cudaEventRecord(begin, CurrentStream()), "event");
    body();
    kernels::cuda::Check(cudaEventRecord(end, CurrentStream()), "event");
    kernels::cuda::Check(cudaEventSynchronize(end), "rates");
    float milliseconds = 0;
    kernels::cuda::Check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
    shortest = run == 0 ? milliseconds : std::min(shortest, milliseconds);
    spent += static_cast<double>(milliseconds) * 1e-3;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<double>(shortest) * 1e-3;
}

}  // namespace

DeviceMemory MemoryOf(const Engine& engine) {
  const auto device = static_cast<c10::DeviceIndex>(engine.device());
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const c10::cuda::CUDAGuard guard(device);
  size_t free = 0, total = 0;
  kernels::cuda::Check(cudaMemGetInfo(&free, &total), "memory query");
  DeviceMemory memory;
  memory.allocated_bytes = stats.allocated_bytes[kAll].current;
  memory.peak_bytes = stats.allocated_bytes[kAll].peak;
  memory.free_bytes = static_cast<int64_t>(free) + stats.reserved_bytes[kAll].current -
                      stats.allocated_bytes[kAll].current;
  return memory;
}

DeviceRates RatesOf(const Engine& engine) {
  constexpr int64_t kSide = 8192;
  constexpr int64_t kCopyBytes = int64_t{1} << 30;
  const at::ScalarType type = ScalarTypeOf(engine.network().dtype());
  DeviceRates rates;
  {
    const at::Tensor a = at::randn({kSide, kSide}, at::TensorOptions(at::kCUDA).dtype(type));
    const at::Tensor b = at::randn({kSide, kSide}, at::TensorOptions(at::kCUDA).dtype(type));
    at::Tensor c = at::empty_like(a);
    const double seconds = Shortest([&] { at::mm_out(c, a, b); });
    rates.flops_per_second = 2.0 * kSide * kSide * kSide / seconds;
  }
  const at::Tensor from = EmptyBytes(kCopyBytes);
  at::Tensor to = EmptyBytes(kCopyBytes);
  rates.bytes_per_second = 2.0 * kCopyBytes / Shortest([&] { to.copy_(from); });
  return rates;
}

}  // namespace natsl::model_adapters::native::cuda
