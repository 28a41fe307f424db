// Medians and quantiles with intervals that assume no distribution: from order statistics, and by
// resampling for ratios of medians.
#pragma once

#include <cstdint>
#include <span>

#include "core/statistics/estimate.h"
#include "core/statistics/proportion.h"

namespace natsl::core::statistics {

/// The middle value, or the mean of the two middle ones. None for nothing.
Estimate Median(std::span<const double> sorted);

/// The narrowest [x(r), x(n+1-r)] that covers the median with probability >= `confidence`, whatever
/// the distribution. None where even [min, max] covers it with less: n < 6 at 95 %.
Interval MedianInterval(std::span<const double> sorted, double confidence = 0.95);

/// Quantile q > 0.5 by linear interpolation; None unless at least ten values are expected above it
/// (p90 wants 100 values, p99 a thousand): with fewer it is the noise of a few.
Estimate SupportedQuantile(std::span<const double> sorted, double q);

struct RatioEstimate {
  Estimate ratio;     ///< median(a) / median(b)
  Interval interval;  ///< percentile bootstrap
};

/// The two resampled apart. None for nothing, or where a median of b is not positive; the interval
/// also for fewer than six values of either.
RatioEstimate MedianRatio(std::span<const double> a, std::span<const double> b,
                          double confidence = 0.95, int64_t replicates = 2000, uint64_t seed = 0);

/// a[i] and b[i] were measured in the same round and are resampled together, so that a drift that
/// both share cancels. The lengths must agree.
RatioEstimate PairedMedianRatio(std::span<const double> a, std::span<const double> b,
                                double confidence = 0.95, int64_t replicates = 2000,
                                uint64_t seed = 0);

}  // namespace natsl::core::statistics
