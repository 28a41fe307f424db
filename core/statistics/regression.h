// Least squares in small dimensions, for how a cost grows with a length.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/statistics/estimate.h"
#include "core/statistics/proportion.h"

namespace natsl::core::statistics {

struct PowerFit {
  Estimate exponent;  ///< b of y = a x^b, by least squares on logarithms
  Interval interval;  ///< Student's t on the residuals, n - 2 degrees of freedom
  int64_t points = 0;
};

/// x and y positive. None for fewer than two different x; no interval for fewer than three points.
PowerFit FitPower(std::span<const double> x, std::span<const double> y, double confidence = 0.95);

struct QuadraticFit {
  bool valid = false;
  std::array<double, 3> coefficients = {0, 0, 0};  ///< a, b, c of a + b x + c x^2, none negative
  double largest_error = 0;                        ///< relative, over the points
};

/// Least squares of relative errors with a, b, c >= 0 (a cost has no negative part). Not valid for
/// fewer than three different x.
QuadraticFit FitQuadratic(std::span<const double> x, std::span<const double> y);

/// t with P(|T| > t) = alpha.
double StudentQuantile(double alpha, double freedom);

}  // namespace natsl::core::statistics
