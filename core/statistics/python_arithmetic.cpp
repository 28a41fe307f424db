// Python's squares and roundings.
#include "core/statistics/python_arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace natsl::core::statistics {

double PythonSquare(double value) {
  // The exponent is hidden from the compiler, which would otherwise make it a product.
  static volatile double two = 2;
  return std::pow(value, two);
}

double PythonRound(double value, int digits) {
  if (!std::isfinite(value)) return value;
  // fmt prints the exact binary value, correctly rounded with ties to even, as Python does.
  return std::strtod(fmt::format("{:.{}f}", value, digits).c_str(), nullptr);
}

double NumpyRound(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::nearbyint(value * scale) / scale;
}

}  // namespace natsl::core::statistics
