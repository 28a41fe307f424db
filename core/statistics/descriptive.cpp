// Means, deviations, medians and quantiles.
#include "core/statistics/descriptive.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/statistics/python_arithmetic.h"

namespace natsl::core::statistics {
namespace {

double SquaresAround(std::span<const double> values, double mean) {
  double sum = 0;
  for (const double value : values) sum += PythonSquare(value - mean);
  return sum;
}

/// Python's sort of a list that holds NaN isn't defined by order: the binary insertion that it uses
/// for short lists decides. Follows it.
void InsertionSort(std::vector<double>& values) {
  const size_t n = values.size();
  size_t run = std::min<size_t>(n, 1);
  if (n > 1) {
    run = 2;
    if (values[1] < values[0]) {
      while (run < n && values[run] < values[run - 1]) ++run;
      std::reverse(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(run));
    } else {
      while (run < n && !(values[run] < values[run - 1])) ++run;
    }
  }
  for (; run < n; ++run) {
    const double pivot = values[run];
    size_t low = 0, high = run;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (pivot < values[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    for (size_t i = run; i > low; --i) values[i] = values[i - 1];
    values[low] = pivot;
  }
}

double PairwiseSum(const double* values, size_t n) {
  if (n < 8) {
    double sum = -0.0;
    for (size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
  }
  if (n <= 128) {
    double lanes[8];
    std::copy(values, values + 8, lanes);
    size_t i = 8;
    for (; i < n - n % 8; i += 8) {
      for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane];
    }
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                 ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  size_t half = n / 2;
  half -= half % 8;
  return PairwiseSum(values, half) + PairwiseSum(values + half, n - half);
}

}  // namespace

double Sum(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

Estimate Mean(std::span<const double> values) {
  if (values.empty()) return Estimate::None("the mean of no values");
  return Sum(values) / static_cast<double>(values.size());
}

Estimate PopulationDeviation(std::span<const double> values) {
  if (values.empty()) return Estimate::None("the deviation of no values");
  const double n = static_cast<double>(values.size());
  return std::sqrt(SquaresAround(values, Sum(values) / n) / n);
}

Estimate SampleDeviation(std::span<const double> values) {
  if (values.size() < 2) {
    return Estimate::None("a sample deviation needs at least two values");
  }
  const double n = static_cast<double>(values.size());
  return std::sqrt(SquaresAround(values, Sum(values) / n) / (n - 1));
}

Estimate MeanStandardError(std::span<const double> values) {
  const Estimate deviation = SampleDeviation(values);
  if (!deviation.has_value()) return deviation;
  return deviation.value() / std::sqrt(static_cast<double>(values.size()));
}

Estimate UpperMedian(std::span<const double> values) {
  if (values.empty()) return Estimate::None("the median of no values");
  std::vector<double> sorted(values.begin(), values.end());
  const bool any_nan =
      std::any_of(sorted.begin(), sorted.end(), [](double value) { return std::isnan(value); });
  if (any_nan) {
    InsertionSort(sorted);
  } else {
    std::sort(sorted.begin(), sorted.end());
  }
  return sorted[sorted.size() / 2];
}

double NumpySum(std::span<const double> values) {
  return PairwiseSum(values.data(), values.size());
}

Estimate NumpyMean(std::span<const double> values) {
  if (values.empty()) return Estimate::None("the mean of no values");
  return NumpySum(values) / static_cast<double>(values.size());
}

Estimate NumpyNanMean(std::span<const double> values) {
  if (values.empty()) return Estimate::None("the mean of no values");
  std::vector<double> filled(values.begin(), values.end());
  int64_t count = 0;
  for (double& value : filled) {
    if (std::isnan(value)) {
      value = 0;
    } else {
      ++count;
    }
  }
  return NumpySum(filled) / static_cast<double>(count);
}

Estimate Quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return Estimate::None("a quantile of no values");
  const double position = q * static_cast<double>(sorted.size() - 1);
  const double below = std::floor(position);
  const auto index = static_cast<size_t>(below);
  if (index + 1 >= sorted.size()) return sorted.back();
  const double low = sorted[index], high = sorted[index + 1], weight = position - below;
  // numpy's lerp: from the nearer end, so that both ends are met exactly.
  return weight < 0.5 ? low + (high - low) * weight : high - (high - low) * (1 - weight);
}

}  // namespace natsl::core::statistics
