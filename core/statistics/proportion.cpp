// Confidence intervals of a proportion.
#include "core/statistics/proportion.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/statistics/distributions.h"

namespace natsl::core::statistics {
namespace {

std::optional<Interval> Refuse(int64_t k, int64_t n, double alpha, int64_t fewest = 1) {
  const auto none = [](const char* why) {
    return Interval{Estimate::None(why), Estimate::None(why)};
  };
  if (n < fewest) return none("a proportion of no trials");
  if (k < 0 || k > n) return none("more successes than trials");
  if (!(alpha > 0 && alpha < 1)) return none("alpha is not between 0 and 1");
  return std::nullopt;
}

double Critical(double alpha) { return -NormalQuantile(alpha / 2); }
double Cut(double value) { return std::clamp(value, 0.0, 1.0); }

}  // namespace

Interval WilsonInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha)) return *refused;
  const auto trials = static_cast<double>(n);
  const double p = static_cast<double>(k) / trials, z = Critical(alpha), z2 = z * z;
  const double scale = 1 + z2 / trials;
  const double centre = (p + z2 / (2 * trials)) / scale;
  const double width = z * std::sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials)) / scale;
  return {centre - width, centre + width};
}

Interval WilsonCorrectedInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha)) return *refused;
  const auto trials = static_cast<double>(n);
  const double p = static_cast<double>(k) / trials, q = 1 - p, z = Critical(alpha), z2 = z * z;
  const double scale = 2 * (trials + z2), centre = (2 * trials * p + z2) / scale;
  const auto width = [&](double sign, double other) {
    const double inner = z2 - sign * 2 - 1 / trials + 4 * p * (trials * q + sign);
    return (1 + z * std::sqrt(inner)) / other;
  };
  return {k == 0 ? 0.0 : centre - width(1, scale), k == n ? 1.0 : centre + width(-1, scale)};
}

Interval ClopperPearsonInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha)) return *refused;
  const auto successes = static_cast<double>(k), failures = static_cast<double>(n - k);
  return {k == 0 ? 0.0 : BetaQuantile(alpha / 2, successes, failures + 1),
          k == n ? 1.0 : BetaUpperQuantile(alpha / 2, successes + 1, failures)};
}

Interval AgrestiCoullInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha, 0)) return *refused;
  const double z = Critical(alpha), trials = static_cast<double>(n) + z * z;
  const double p = (static_cast<double>(k) + z * z / 2) / trials;
  const double width = z * std::sqrt(p * (1 - p) / trials);
  return {Cut(p - width), Cut(p + width)};
}

Interval NormalInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha)) return *refused;
  const auto trials = static_cast<double>(n);
  const double p = static_cast<double>(k) / trials;
  const double width = Critical(alpha) * std::sqrt(p * (1 - p) / trials);
  return {Cut(p - width), Cut(p + width)};
}

Interval JeffreysInterval(int64_t k, int64_t n, double alpha) {
  if (const auto refused = Refuse(k, n, alpha, 0)) return *refused;
  const double a = static_cast<double>(k) + 0.5, b = static_cast<double>(n - k) + 0.5;
  return {BetaQuantile(alpha / 2, a, b), BetaUpperQuantile(alpha / 2, a, b)};
}

}  // namespace natsl::core::statistics
