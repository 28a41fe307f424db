// Percentile bootstrap.
#include "core/statistics/resampling.h"

#include <algorithm>
#include <vector>

#include "core/python_random.h"
#include "core/statistics/descriptive.h"
#include "core/threads.h"

namespace natsl::core::statistics {
namespace {

constexpr int64_t kBlock = 1000;  // replicates that share a generator

BootstrapInterval None(const char* why) {
  const Estimate none = Estimate::None(why);
  return {{none, none}, none};
}

}  // namespace

BootstrapInterval PercentileBootstrap(std::span<const double> values, double alpha,
                                      int64_t replicates, uint64_t seed, int threads) {
  if (values.empty()) return None("the bootstrap of no values");
  if (replicates < 2) return None("the deviation of fewer than two replicates");
  if (!(alpha > 0 && alpha < 1)) return None("alpha is not between 0 and 1");
  std::vector<double> means(static_cast<size_t>(replicates));
  const auto n = static_cast<double>(values.size());
  ParallelFor((replicates + kBlock - 1) / kBlock, threads, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      PythonRandom random((seed << 32) + static_cast<uint64_t>(block));
      const int64_t last = std::min(replicates, (block + 1) * kBlock);
      for (int64_t r = block * kBlock; r < last; ++r) {
        double sum = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          sum += values[static_cast<size_t>(random.Random() * n)];
        }
        means[static_cast<size_t>(r)] = sum / n;
      }
    }
  });
  const Estimate error = SampleDeviation(means);
  std::sort(means.begin(), means.end());
  return {{Quantile(means, alpha / 2), Quantile(means, 1 - alpha / 2)}, error};
}

BootstrapInterval PairedBootstrap(std::span<const double> a, std::span<const double> b,
                                  double alpha, int64_t replicates, uint64_t seed, int threads) {
  if (a.size() != b.size()) return None("the paired samples have different lengths");
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  return PercentileBootstrap(differences, alpha, replicates, seed, threads);
}

}  // namespace natsl::core::statistics
