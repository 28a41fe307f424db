// Means, deviations and the standard error of a mean, in the arithmetic of the reference harness:
// sums run left to right in double without compensation (Python 3.11's built-in sum).
#pragma once

#include <span>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

/// x1 + x2 + ..., left to right; 0 for nothing.
double Sum(std::span<const double> values);

/// sum(x) / n. None for n = 0.
Estimate Mean(std::span<const double> values);

/// sqrt(sum((x - mean)^2) / n). None for n = 0.
Estimate PopulationDeviation(std::span<const double> values);

/// sqrt(sum((x - mean)^2) / (n - 1)). None for n < 2.
Estimate SampleDeviation(std::span<const double> values);

/// SampleDeviation / sqrt(n): the harness's error of a mean. None for n < 2.
Estimate MeanStandardError(std::span<const double> values);

/// The harness's median: element floor(n / 2) of the sorted values (the upper one for even n).
/// None for n = 0.
Estimate UpperMedian(std::span<const double> values);

/// numpy's sum: pairwise above 128 values, eight accumulators below.
double NumpySum(std::span<const double> values);
/// NumpySum / n. None for n = 0.
Estimate NumpyMean(std::span<const double> values);
/// numpy's nanmean: NaN values are left out; NaN where none is left. None for n = 0.
Estimate NumpyNanMean(std::span<const double> values);

/// Quantile by linear interpolation between order statistics (numpy's default), 0 <= q <= 1.
/// `sorted` ascending. None for nothing.
Estimate Quantile(std::span<const double> sorted, double q);

}  // namespace natsl::core::statistics
