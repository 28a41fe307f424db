// Normal, beta, binomial, Student and chi-square.
#include "core/statistics/distributions.h"

#include <cmath>
#include <limits>

namespace natsl::core::statistics {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// lgamma(z) less Stirling's (z - 1/2) log z - z + log(2 pi) / 2.
double StirlingError(double z) {
  if (z < 10) {
    return std::lgamma(z) - ((z - 0.5) * std::log(z) - z + 0.5 * std::log(2 * kPi));
  }
  const double w = 1 / (z * z);
  return (1.0 / 12 -
          w * (1.0 / 360 -
               w * (1.0 / 1260 - w * (1.0 / 1680 - w * (1.0 / 1188 - w * 691 / 360360))))) /
         z;
}

/// x^a (1 - x)^b / B(a, b), without the cancellation of three large log-gammas: the exponent is
/// the relative entropy between a / (a + b) and x.
double BetaPower(double x, double a, double b) {
  const double n = a + b, p = a / n, q = b / n;
  const double entropy = a * std::log1p((p - x) / x) + b * std::log1p((x - p) / (1 - x));
  return std::sqrt(a * q / (2 * kPi)) *
         std::exp(StirlingError(n) - StirlingError(a) - StirlingError(b) - entropy);
}

/// The continued fraction of I_x(a, b), by Lentz's method.
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  const auto guard = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / guard(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < 100000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    const double step = d * c;
    value *= step;
    if (std::abs(step - 1) < 1e-16) break;
  }
  return value;
}

/// The root in (0, 1) of an increasing function, to the last bit.
template <typename Function>
double Bisect(const Function& below) {
  double low = 0, high = 1;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (below(middle) ? low : high) = middle;
  }
}

}  // namespace

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double NormalQuantile(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return std::nan("");
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p > 0.5) return -NormalQuantile(1 - p);
  // A rough start for the lower tail, then Newton's steps on log(cdf), which is concave.
  const double t = std::sqrt(-2 * std::log(p));
  double z = -(t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + t * 0.04481)));
  for (int i = 0; i < 20; ++i) {
    const double cdf = NormalTail(-z);
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * kPi);
    const double step = (std::log(cdf) - std::log(p)) * cdf / density;
    z -= step;
    if (std::abs(step) <= 1e-16 * std::abs(z)) break;
  }
  return z;
}

double BetaCdf(double x, double a, double b) {
  if (std::isnan(x) || !(a > 0) || !(b > 0)) return std::nan("");
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double power = BetaPower(x, a, b);
  if (x < (a + 1) / (a + b + 2)) return power * BetaFraction(x, a, b) / a;
  return 1 - power * BetaFraction(1 - x, b, a) / b;
}

double BetaQuantile(double p, double a, double b) {
  return Bisect([&](double x) { return BetaCdf(x, a, b) < p; });
}

double BetaUpperQuantile(double p, double a, double b) { return 1 - BetaQuantile(p, b, a); }

double BinomialCdf(int64_t k, int64_t n, double p) {
  if (k < 0) return 0;
  if (k >= n) return 1;
  return BetaCdf(1 - p, static_cast<double>(n - k), static_cast<double>(k + 1));
}

double StudentTwoSided(double t, double freedom) {
  if (std::isnan(t)) return t;
  if (std::isinf(t)) return 0;
  return BetaCdf(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double ChiSquareTail(double x) { return std::isnan(x) ? x : std::erfc(std::sqrt(x / 2)); }

}  // namespace natsl::core::statistics
