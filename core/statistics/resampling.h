// Percentile bootstrap of a mean, and of the mean difference of paired values.
#pragma once

#include <cstdint>
#include <span>

#include "core/statistics/bootstrap.h"
#include "core/statistics/proportion.h"

namespace natsl::core::statistics {

struct BootstrapInterval {
  Interval interval;  ///< quantiles alpha / 2 and 1 - alpha / 2 of the resampled means
  Estimate error;     ///< their sample deviation
};

/// Resamples `values` with replacement. The same seed gives the same result for any `threads` (0:
/// one a hardware thread). None for no values, fewer than two replicates or alpha outside (0, 1).
BootstrapInterval PercentileBootstrap(std::span<const double> values, double alpha = 0.05,
                                      int64_t replicates = kDefaultReplicates, uint64_t seed = 0,
                                      int threads = 0);

/// The same of a[i] - b[i]. None where the lengths differ.
BootstrapInterval PairedBootstrap(std::span<const double> a, std::span<const double> b,
                                  double alpha = 0.05, int64_t replicates = kDefaultReplicates,
                                  uint64_t seed = 0, int threads = 0);

}  // namespace natsl::core::statistics
