// The reference harness's bootstrap of a standard error, number by number: chunk c of
// min(1000, iterations) replicates draws with Python's generator seeded by c; each replicate is n
// draws floor(random() * n); the error is the sample deviation of all replicates, in chunk order.
// iterations that do not fill a chunk are left out (1500 gives 1000 replicates).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

constexpr int64_t kDefaultReplicates = 100'000;

/// Error of Perplexity(log_probs). The result does not depend on `threads` (0: one a hardware
/// thread). None for no values, iterations < 2, or where a replicate overflows.
Estimate BootstrapPerplexityError(std::span<const double> log_probs,
                                  int64_t iterations = kDefaultReplicates, int threads = 0);

/// Error of any statistic of the drawn values (in draw order). `statistic` is called from several
/// threads at once. None as above, and where a replicate has no value.
Estimate BootstrapError(std::span<const double> values,
                        const std::function<Estimate(std::span<const double>)>& statistic,
                        int64_t iterations = kDefaultReplicates, int threads = 0);

}  // namespace natsl::core::statistics
