// Mann and Whitney's test.
#include "core/statistics/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/statistics/distributions.h"
#include "core/statistics/ranks.h"

namespace natsl::core::statistics {
namespace {

/// Ways[u]: arrangements of n + m untied values with statistic u, for u <= top, by
/// ways(n, m, u) = ways(n - 1, m, u - m) + ways(n, m - 1, u).
std::vector<double> Arrangements(size_t n, size_t m, size_t top) {
  std::vector<std::vector<double>> by_m(m + 1, std::vector<double>(top + 1));
  for (auto& ways : by_m) ways[0] = 1;
  for (size_t i = 1; i <= n; ++i) {
    for (size_t j = 1; j <= m; ++j) {
      for (size_t u = top + 1; u-- > 0;) {
        by_m[j][u] = (u >= j ? by_m[j][u - j] : 0) + by_m[j - 1][u];
      }
    }
  }
  return by_m[m];
}

/// P(U >= u) without ties.
double ExactTail(int64_t u, size_t n, size_t m) {
  const auto complement = static_cast<int64_t>(n * m) - u;
  const int64_t least = std::min(u, complement);
  const std::vector<double> ways = Arrangements(n, m, static_cast<size_t>(least));
  double total = 1;  // binomial(n + m, n)
  for (size_t i = 1; i <= std::min(n, m); ++i) {
    total *= static_cast<double>(std::max(n, m) + i) / static_cast<double>(i);
  }
  double below = 0;
  for (const double count : ways) below += count;
  return u < complement ? 1 - below / total + ways.back() / total : below / total;
}

}  // namespace

TestResult MannWhitney(std::span<const double> x, std::span<const double> y,
                       Alternative alternative, MannWhitneyMethod method, bool continuity) {
  const auto none = [](const char* why) {
    return TestResult{Estimate::None(why), Estimate::None(why)};
  };
  if (x.empty() || y.empty()) return none("a sample is empty");
  std::vector<double> all(x.begin(), x.end());
  all.insert(all.end(), y.begin(), y.end());
  if (std::any_of(all.begin(), all.end(), [](double value) { return std::isnan(value); })) {
    return none("a value is NaN");
  }
  const Ranks ranks = RanksOf(all);
  const auto n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  double rank_sum = 0;
  for (size_t i = 0; i < x.size(); ++i) rank_sum += ranks.ranks[i];
  const double first = rank_sum - n * (n + 1) / 2, second = n * m - first;
  const double u = alternative == Alternative::kGreater ? first
                   : alternative == Alternative::kLess  ? second
                                                        : std::max(first, second);
  if (method == MannWhitneyMethod::kAuto) {
    method = std::min(x.size(), y.size()) > 8 || ranks.ties ? MannWhitneyMethod::kAsymptotic
                                                            : MannWhitneyMethod::kExact;
  }
  double p = 0;
  if (method == MannWhitneyMethod::kExact) {
    p = ExactTail(static_cast<int64_t>(u), x.size(), y.size());
  } else {
    const double count = n + m;
    const double deviation =
        std::sqrt(n * m / 12 * ((count + 1) - ranks.tie_term / (count * (count - 1))));
    p = NormalTail((u - n * m / 2 - (continuity ? 0.5 : 0)) / deviation);
  }
  if (alternative == Alternative::kTwoSided) p *= 2;
  return {first, std::isnan(p) ? p : std::clamp(p, 0.0, 1.0)};
}

}  // namespace natsl::core::statistics
