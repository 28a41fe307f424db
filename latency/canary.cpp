#include "latency/canary.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/threads.h"
#include "latency/environment.h"

namespace natsl::latency {
namespace {

constexpr int64_t kDepth = 256;     // of the product: the blocks stay in the first-level cache
constexpr int kRepeats = 10;        // the fastest counts: a peak is what the machine can reach
constexpr double kSeconds = 0.01;   // of one repeat: short, to fit between disturbances
constexpr double kMostSeconds = 1;  // of a measurement: then as many repeats as there are
constexpr int64_t kCopyBytes = int64_t{64} << 20;  // of one side, all threads together

// c[Rows, 2 vectors] += a[kDepth, Rows] x b[kDepth, 2 vectors]: all accumulators in registers.
template <typename Vector, int kRows>
inline __attribute__((always_inline)) void Block(const float* a, const float* b, float* c) {
  constexpr size_t kLanes = sizeof(Vector) / sizeof(float);
  Vector sum[kRows][2] = {};
  for (int64_t k = 0; k < kDepth; ++k) {
    Vector left, right;
    std::memcpy(&left, b, sizeof(Vector));
    std::memcpy(&right, b + kLanes, sizeof(Vector));
#pragma GCC unroll 16  // else the sums live in memory, and the peak found is half of the machine's
    for (int row = 0; row < kRows; ++row) {
      sum[row][0] += a[row] * left;
      sum[row][1] += a[row] * right;
    }
    a += kRows;
    b += 2 * kLanes;
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    for (int side = 0; side < 2; ++side) {
      Vector total;
      float* place = c + (static_cast<size_t>(row) * 2 + static_cast<size_t>(side)) * kLanes;
      std::memcpy(&total, place, sizeof(Vector));
      total += sum[row][side];
      std::memcpy(place, &total, sizeof(Vector));
    }
  }
}

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

struct Product {
  void (*run)(const float*, const float*, float*);
  int64_t rows, columns;
};

void BlockPlain(const float* a, const float* b, float* c) { Block<Vector4, 4>(a, b, c); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void BlockAvx2(const float* a, const float* b, float* c) {
  Block<Vector8, 6>(a, b, c);
}
__attribute__((target("avx512f"))) void BlockAvx512(const float* a, const float* b, float* c) {
  Block<Vector16, 12>(a, b, c);
}
#endif

Product BestProduct() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {BlockAvx512, 12, 32};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {BlockAvx2, 6, 16};
#endif
  return {BlockPlain, 4, 8};
}

// Seconds that `body(thread, times)` takes on all threads, for as many times as fill kSeconds, and
// at most `most_times`; returns units of work a second, 0 where the clock stands still.
double Rate(int threads, const core::Clock& clock, double units, int64_t most_times,
            const std::function<void(int64_t, int64_t)>& body) {
  const int64_t started = clock.NowNs();
  const auto run = [&](int64_t times) {
    const int64_t begin = clock.NowNs();
    core::ParallelFor(threads, threads, [&](int64_t from, int64_t to) {
      for (int64_t thread = from; thread < to; ++thread) body(thread, times);
    });
    return static_cast<double>(clock.NowNs() - begin) * 1e-9;
  };
  int64_t times = 1;
  double seconds = run(times);
  while (seconds < kSeconds / 4 && times < most_times) {
    times *= 4;
    seconds = run(times);
  }
  if (!(seconds > 0)) return 0;  // the clock says nothing
  const double filling = static_cast<double>(times) * kSeconds / std::max(seconds, 1e-9);
  times = static_cast<int64_t>(std::clamp(filling, 1.0, static_cast<double>(most_times)));
  double best = 0;
  const auto spent_seconds = [&] { return static_cast<double>(clock.NowNs() - started) * 1e-9; };
  for (int i = 0; i < kRepeats && (i == 0 || spent_seconds() < kMostSeconds); ++i) {
    const double spent = std::max(run(times), 1e-9);
    best = std::max(best, units * static_cast<double>(times) * threads / spent);
  }
  return best;
}

}  // namespace

CanaryRates MeasureHost(int threads, const core::Clock& clock) {
  const int workers = threads > 0 ? threads : static_cast<int>(UsableCores());
  const Product product = BestProduct();
  std::vector<std::vector<float>> a(static_cast<size_t>(workers)), b(a), c(a);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i].assign(static_cast<size_t>(kDepth * product.rows), 1e-3F);
    b[i].assign(static_cast<size_t>(kDepth * product.columns), 1e-3F);
    c[i].assign(static_cast<size_t>(product.rows * product.columns), 0);
  }
  CanaryRates rates;
  const double flops = 2.0 * static_cast<double>(kDepth * product.rows * product.columns);
  constexpr int64_t kMostProducts = int64_t{1} << 15, kMostCopied = int64_t{1} << 30;
  rates.flops_per_second =
      Rate(workers, clock, flops, kMostProducts, [&](int64_t thread, int64_t times) {
        const auto i = static_cast<size_t>(thread);
        for (int64_t n = 0; n < times; ++n) product.run(a[i].data(), b[i].data(), c[i].data());
      });
  const auto part = static_cast<size_t>(kCopyBytes / workers);
  const int64_t most_copies = kMostCopied / static_cast<int64_t>(part);
  std::vector<std::vector<char>> from(a.size(), std::vector<char>(part, 1)), to(from);
  rates.bytes_per_second = Rate(workers, clock, 2.0 * static_cast<double>(part), most_copies,
                                [&](int64_t thread, int64_t times) {
                                  const auto i = static_cast<size_t>(thread);
                                  for (int64_t n = 0; n < times; ++n) {
                                    // A different byte each time: nothing may conclude that a copy
                                    // is needless.
                                    from[i][static_cast<size_t>(n) % part] = static_cast<char>(n);
                                    std::memcpy(to[i].data(), from[i].data(), part);
                                    __asm__ volatile("" : : "r"(to[i].data()) : "memory");
                                  }
                                });
  return rates;
}

}  // namespace natsl::latency
