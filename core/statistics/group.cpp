// Aggregates over the tasks of a group.
#include "core/statistics/group.h"

#include <cmath>

#include "core/statistics/python_arithmetic.h"

namespace natsl::core::statistics {
namespace {

Estimate Mismatch() { return Estimate::None("a group's lists of values have different lengths"); }

}  // namespace

Estimate GroupMean(std::span<const double> values, std::span<const int64_t> sizes,
                   bool weight_by_size) {
  if (values.empty()) return Estimate::None("the mean of no tasks");
  if (values.size() != sizes.size()) return Mismatch();
  double sum = 0;
  int64_t total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t weight = weight_by_size ? sizes[i] : 1;
    sum += values[i] * static_cast<double>(weight);
    total += weight;
  }
  if (total == 0) return Estimate::None("the mean of tasks without documents");
  return sum / static_cast<double>(total);
}

Estimate PooledGroupError(std::span<const double> errors, std::span<const int64_t> sizes) {
  if (errors.empty()) return Estimate::None("the error of no tasks");
  if (errors.size() != sizes.size()) return Mismatch();
  double sum = 0;
  int64_t total = 0;
  for (size_t i = 0; i < errors.size(); ++i) {
    const auto size = static_cast<double>(sizes[i]);
    sum += (size - 1) * PythonSquare(errors[i]) * size;
    total += sizes[i];
  }
  const int64_t freedom = total - static_cast<int64_t>(sizes.size());
  if (total == 0 || freedom == 0) {
    return Estimate::None("a pooled error needs a task with at least two documents");
  }
  return std::sqrt(sum / static_cast<double>(freedom) / static_cast<double>(total));
}

Estimate UnweightedGroupError(std::span<const double> errors) {
  if (errors.empty()) return Estimate::None("the error of no tasks");
  double sum = 0;
  for (const double error : errors) sum += PythonSquare(error);
  return std::sqrt(sum) / static_cast<double>(errors.size());
}

Estimate CombinedGroupError(std::span<const double> errors, std::span<const int64_t> sizes,
                            std::span<const double> values) {
  if (errors.empty()) return Estimate::None("the error of no tasks");
  if (errors.size() != sizes.size() || sizes.size() != values.size()) return Mismatch();
  const auto running = static_cast<double>(sizes[0]);
  double variance = PythonSquare(errors[0]);
  double value = values[0];
  for (size_t i = 1; i < errors.size(); ++i) {
    const auto size = static_cast<double>(sizes[i]);
    const double both = running + size;
    if (both == 0 || both == 1) {
      return Estimate::None("a combined error needs tasks with documents");
    }
    value = (value * running + values[i] * size) / both;
    variance = ((running - 1) * variance + (size - 1) * PythonSquare(errors[i])) / (both - 1) +
               running * size / (both * (both - 1)) * PythonSquare(value - values[i]);
  }
  return std::sqrt(variance);
}

}  // namespace natsl::core::statistics
