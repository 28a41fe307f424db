#include "core/statistics/regression.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/statistics/distributions.h"

namespace natsl::core::statistics {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

// Solves the normal equations of the columns in `used` by elimination with pivoting; false where
// they are singular.
bool Solve(Matrix m, Vector v, unsigned used, Vector& solution) {
  std::vector<size_t> columns;
  for (size_t i = 0; i < 3; ++i) {
    if (used >> i & 1) columns.push_back(i);
  }
  const size_t n = columns.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) rows[i][j] = m[columns[i]][columns[j]];
    rows[i][n] = v[columns[i]];
  }
  for (size_t i = 0; i < n; ++i) {
    const auto pivot = std::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(i), rows.end(),
        [&](const auto& a, const auto& b) { return std::fabs(a[i]) < std::fabs(b[i]); });
    std::swap(rows[i], *pivot);
    if (!(std::fabs(rows[i][i]) > 0)) return false;
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = rows[r][i] / rows[i][i];
      for (size_t c = i; c <= n; ++c) rows[r][c] -= factor * rows[i][c];
    }
  }
  solution = {0, 0, 0};
  for (size_t i = 0; i < n; ++i) solution[columns[i]] = rows[i][n] / rows[i][i];
  return true;
}

}  // namespace

double StudentQuantile(double alpha, double freedom) {
  double low = 0, high = 1;
  while (StudentTwoSided(high, freedom) > alpha) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (StudentTwoSided(middle, freedom) > alpha ? low : high) = middle;
  }
  return (low + high) / 2;
}

PowerFit FitPower(std::span<const double> x, std::span<const double> y, double confidence) {
  const Estimate none = Estimate::None("fewer than two different lengths");
  PowerFit fit{none, {none, none}, static_cast<int64_t>(x.size())};
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, residual = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    xx += std::pow(std::log(x[i]) - mean_x, 2);
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  if (!(xx > 1e-12)) return fit;
  const double slope = xy / xx;
  fit.exponent = slope;
  if (x.size() < 3) {
    const Estimate few = Estimate::None("an interval of fewer than three lengths");
    fit.interval = {few, few};
    return fit;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    residual += std::pow(std::log(y[i]) - mean_y - slope * (std::log(x[i]) - mean_x), 2);
  }
  const double half = StudentQuantile(1 - confidence, n - 2) * std::sqrt(residual / (n - 2) / xx);
  fit.interval = {slope - half, slope + half};
  return fit;
}

QuadraticFit FitQuadratic(std::span<const double> x, std::span<const double> y) {
  QuadraticFit fit;
  if (std::set<double>(x.begin(), x.end()).size() < 3) return fit;
  // Lengths in units of the longest, so that the three columns are of one size.
  const double unit = *std::max_element(x.begin(), x.end());
  Matrix normal{};
  Vector right{};
  for (size_t k = 0; k < x.size(); ++k) {
    const double u = x[k] / unit;
    const Vector row = {1 / y[k], u / y[k], u * u / y[k]};
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) normal[i][j] += row[i] * row[j];
      right[i] += row[i];
    }
  }
  // Of all subsets of the terms: the feasible one with the smallest error is the constrained
  // optimum.
  double best = INFINITY;
  for (unsigned used = 1; used < 8; ++used) {
    Vector candidate;
    if (!Solve(normal, right, used, candidate)) continue;
    if (*std::min_element(candidate.begin(), candidate.end()) < 0) continue;
    double error = 0, largest = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      const double u = x[k] / unit;
      const double relative = (candidate[0] + candidate[1] * u + candidate[2] * u * u) / y[k] - 1;
      error += relative * relative;
      largest = std::max(largest, std::fabs(relative));
    }
    if (error < best) {
      best = error;
      fit.valid = true;
      fit.largest_error = largest;
      fit.coefficients = {candidate[0], candidate[1] / unit, candidate[2] / unit / unit};
    }
  }
  return fit;
}

}  // namespace natsl::core::statistics
