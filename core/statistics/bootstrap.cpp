// The bootstrap of the reference harness. Its 100,000 replicates of thousands of draws would take
// minutes one by one, so replicates of eight chunks (eight generators) advance side by side, in a
// form that compilers turn into vector code, and chunks are spread over threads.
#include "core/statistics/bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/python_random.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/mersenne_seed.h"
#include "core/threads.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define NATSL_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NATSL_VECTOR_CLONES
#endif

namespace natsl::core::statistics {
namespace {

constexpr int kLanes = 8;
constexpr int kShift = 397;
constexpr int64_t kChunk = 1000;

/// Eight MT19937 generators; word i of generator `lane` at [i][lane].
struct alignas(64) LaneState {
  uint32_t words[kMersenneSize][kLanes];
  /// The next 312 numbers of random() of each lane, times n and truncated: indices.
  int32_t indices[kMersenneSize / 2][kLanes];
};

NATSL_VECTOR_CLONES __attribute__((optimize("O3"))) void Refill(LaneState& state, double n) {
  const auto twist = [&](int i, int next, int far) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t mixed =
          (state.words[i][lane] & 0x80000000U) | (state.words[next][lane] & 0x7FFFFFFFU);
      state.words[i][lane] =
          state.words[far][lane] ^ (mixed >> 1) ^ ((0U - (mixed & 1U)) & 0x9908B0DFU);
    }
  };
  for (int i = 0; i < kMersenneSize - kShift; ++i) twist(i, i + 1, i + kShift);
  for (int i = kMersenneSize - kShift; i < kMersenneSize - 1; ++i) {
    twist(i, i + 1, i + kShift - kMersenneSize);
  }
  twist(kMersenneSize - 1, 0, kShift - 1);
  for (int i = 0; i < kMersenneSize / 2; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t high = state.words[2 * i][lane];
      uint32_t low = state.words[2 * i + 1][lane];
      high ^= high >> 11;
      low ^= low >> 11;
      high ^= (high << 7) & 0x9D2C5680U;
      low ^= (low << 7) & 0x9D2C5680U;
      high ^= (high << 15) & 0xEFC60000U;
      low ^= (low << 15) & 0xEFC60000U;
      high ^= high >> 18;
      low ^= low >> 18;
      const double random = (static_cast<double>(static_cast<int32_t>(high >> 5)) * 67108864.0 +
                             static_cast<double>(static_cast<int32_t>(low >> 6))) *
                            (1.0 / 9007199254740992.0);
      state.indices[i][lane] = static_cast<int32_t>(random * n);
    }
  }
}

/// sums[lane] += items[index] for draws [begin, end) of the current block, in order.
NATSL_VECTOR_CLONES __attribute__((optimize("O3"))) void Accumulate(const LaneState& state,
                                                                    const double* items, int begin,
                                                                    int end, double* sums) {
  double local[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) local[lane] = sums[lane];
  for (int i = begin; i < end; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) local[lane] += items[state.indices[i][lane]];
  }
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = local[lane];
}

/// Means of the replicates of chunks [first, first + kLanes), out[lane * replicates + r].
void LaneMeans(std::span<const double> items, int64_t first, int64_t replicates, double* out) {
  const auto state = std::make_unique<LaneState>();
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto seeded = SeedMersenne(static_cast<uint64_t>(first + lane));
    for (size_t i = 0; i < seeded.size(); ++i) state->words[i][lane] = seeded[i];
  }
  constexpr int kBlock = kMersenneSize / 2;
  const double n = static_cast<double>(items.size());
  int next = kBlock;
  for (int64_t replicate = 0; replicate < replicates; ++replicate) {
    double sums[kLanes] = {};
    for (int64_t left = static_cast<int64_t>(items.size()); left > 0;) {
      if (next == kBlock) {
        Refill(*state, n);
        next = 0;
      }
      const int take = static_cast<int>(std::min<int64_t>(left, kBlock - next));
      Accumulate(*state, items.data(), next, next + take, sums);
      next += take;
      left -= take;
    }
    for (int lane = 0; lane < kLanes; ++lane) out[lane * replicates + replicate] = sums[lane] / n;
  }
}

struct Plan {
  int64_t chunk = 0;
  int64_t chunks = 0;
};

std::optional<Estimate> Refuse(std::span<const double> values, int64_t iterations) {
  if (values.empty()) return Estimate::None("the bootstrap of no values");
  if (iterations <= 0) return Estimate::None("the bootstrap is switched off");
  if (iterations == 1) return Estimate::None("the deviation of one replicate");
  return std::nullopt;
}

Plan PlanOf(int64_t iterations) {
  const int64_t chunk = std::min(kChunk, iterations);
  return {chunk, iterations / chunk};
}

}  // namespace

Estimate BootstrapPerplexityError(std::span<const double> log_probs, int64_t iterations,
                                  int threads) {
  if (const auto refused = Refuse(log_probs, iterations)) return *refused;
  const auto [chunk, chunks] = PlanOf(iterations);
  const int64_t groups = (chunks + kLanes - 1) / kLanes;
  std::vector<double> values(static_cast<size_t>(groups * kLanes * chunk));
  ParallelFor(groups, threads, [&, chunk = chunk](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      LaneMeans(log_probs, group * kLanes, chunk,
                &values[static_cast<size_t>(group * kLanes * chunk)]);
    }
  });
  values.resize(static_cast<size_t>(chunks * chunk));
  for (double& value : values) {
    const double loss = -value;
    value = std::exp(loss);
    if (std::isinf(value) && std::isfinite(loss)) {
      return Estimate::None("the perplexity of a bootstrap replicate overflows a double");
    }
  }
  return SampleDeviation(values);
}

Estimate BootstrapError(std::span<const double> values,
                        const std::function<Estimate(std::span<const double>)>& statistic,
                        int64_t iterations, int threads) {
  if (const auto refused = Refuse(values, iterations)) return *refused;
  const auto [chunk, chunks] = PlanOf(iterations);
  std::vector<double> replicates(static_cast<size_t>(chunks * chunk));
  std::vector<std::string> failures(static_cast<size_t>(chunks));
  ParallelFor(chunks, threads, [&, chunk = chunk](int64_t begin, int64_t end) {
    std::vector<double> drawn(values.size());
    for (int64_t c = begin; c < end; ++c) {
      PythonRandom random(static_cast<uint64_t>(c));
      for (int64_t r = 0; r < chunk; ++r) {
        for (double& value : drawn) {
          const double scaled = random.Random() * static_cast<double>(values.size());
          value = values[static_cast<size_t>(scaled)];
        }
        const Estimate estimate = statistic(drawn);
        if (!estimate.has_value()) {
          failures[static_cast<size_t>(c)] = estimate.because();
          break;
        }
        replicates[static_cast<size_t>(c * chunk + r)] = estimate.value();
      }
    }
  });
  for (const std::string& failure : failures) {
    if (!failure.empty()) return Estimate::None("a bootstrap replicate: " + failure);
  }
  return SampleDeviation(replicates);
}

}  // namespace natsl::core::statistics
