#include "core/statistics/order_statistics.h"

#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/python_random.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/distributions.h"

namespace natsl::core::statistics {
namespace {

constexpr int64_t kFewest = 6;      // values of which an interval of the median can be 95 % sure
constexpr double kTailValues = 10;  // values expected above a quantile that is told
constexpr double kSlack = 1e-9;     // of the last comparison with a product of rounded numbers

double MedianOf(std::vector<double>& values) {
  const size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  const double upper = *at;
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), at)) / 2;
}

double MedianOf(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return MedianOf(copy);
}

RatioEstimate None(const char* why) {
  const Estimate none = Estimate::None(why);
  return {none, {none, none}};
}

// `draw(random, a, b)` fills one replicate's samples.
template <typename Draw>
RatioEstimate Bootstrap(std::span<const double> a, std::span<const double> b, double confidence,
                        int64_t replicates, uint64_t seed, const Draw& draw) {
  if (a.empty() || b.empty()) return None("the ratio of no values");
  if (!(*std::min_element(b.begin(), b.end()) > 0)) return None("a divisor is not positive");
  RatioEstimate result = None("an interval of fewer than six values");
  result.ratio = MedianOf(a) / MedianOf(b);
  if (static_cast<int64_t>(std::min(a.size(), b.size())) < kFewest) return result;
  PythonRandom random(seed);
  std::vector<double> from_a(a.size()), from_b(b.size()), ratios;
  for (int64_t i = 0; i < replicates; ++i) {
    draw(random, from_a, from_b);
    ratios.push_back(MedianOf(from_a) / MedianOf(from_b));
  }
  std::sort(ratios.begin(), ratios.end());
  const double tail = (1 - confidence) / 2;
  result.interval = {Quantile(ratios, tail), Quantile(ratios, 1 - tail)};
  return result;
}

size_t Index(PythonRandom& random, size_t size) {
  return static_cast<size_t>(random.Random() * static_cast<double>(size));
}

}  // namespace

Estimate Median(std::span<const double> sorted) { return Quantile(sorted, 0.5); }

Interval MedianInterval(std::span<const double> sorted, double confidence) {
  const auto n = static_cast<int64_t>(sorted.size());
  // P(x(r) <= median <= x(n+1-r)) = 1 - 2 P(Binomial(n, 1/2) <= r - 1).
  int64_t rank = 0;
  while (2 * (rank + 1) <= n && 1 - 2 * BinomialCdf(rank, n, 0.5) >= confidence) ++rank;
  if (rank == 0) {
    const Estimate none = Estimate::None("too few values for an interval of the median");
    return {none, none};
  }
  return {sorted[static_cast<size_t>(rank - 1)], sorted[static_cast<size_t>(n - rank)]};
}

Estimate SupportedQuantile(std::span<const double> sorted, double q) {
  if (static_cast<double>(sorted.size()) * (1 - q) < kTailValues - kSlack) {
    return Estimate::None("too few values beyond the quantile");
  }
  return Quantile(sorted, q);
}

RatioEstimate MedianRatio(std::span<const double> a, std::span<const double> b, double confidence,
                          int64_t replicates, uint64_t seed) {
  return Bootstrap(a, b, confidence, replicates, seed,
                   [&](PythonRandom& random, std::vector<double>& x, std::vector<double>& y) {
                     for (double& value : x) value = a[Index(random, a.size())];
                     for (double& value : y) value = b[Index(random, b.size())];
                   });
}

RatioEstimate PairedMedianRatio(std::span<const double> a, std::span<const double> b,
                                double confidence, int64_t replicates, uint64_t seed) {
  NATSL_CHECK(a.size() == b.size());
  return Bootstrap(a, b, confidence, replicates, seed,
                   [&](PythonRandom& random, std::vector<double>& x, std::vector<double>& y) {
                     for (size_t i = 0; i < x.size(); ++i) {
                       const size_t from = Index(random, a.size());
                       x[i] = a[from];
                       y[i] = b[from];
                     }
                   });
}

}  // namespace natsl::core::statistics
