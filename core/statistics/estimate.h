// A number that may not exist: the value of a statistic, or the reason why it has none.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace natsl::core::statistics {

/// Either a value (which may be infinite or NaN where the formula gives that) or the reason why the
/// statistic is not defined for its input. Undefined is never spelled as 0.
class Estimate {
 public:
  Estimate(double value) : value_(value) {}  // NOLINT: a number is an estimate
  static Estimate None(std::string because) { return Estimate(std::move(because)); }

  bool has_value() const { return value_.has_value(); }
  /// Only where has_value().
  double value() const { return *value_; }
  /// Why there is no value; "" where there is one.
  const std::string& because() const { return because_; }

 private:
  explicit Estimate(std::string because) : because_(std::move(because)) {}

  std::optional<double> value_;
  std::string because_;
};

}  // namespace natsl::core::statistics
