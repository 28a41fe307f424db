// Aggregates over the tasks of a group, as lm-evaluation-harness 0.4.13 computes them.
#pragma once

#include <cstdint>
#include <span>

#include "core/statistics/estimate.h"

namespace natsl::core::statistics {

/// sum(v_i n_i) / sum(n_i), or with unit weights. None for no task and for sizes that sum to 0.
Estimate GroupMean(std::span<const double> values, std::span<const int64_t> sizes,
                   bool weight_by_size);

/// Pooled error of a size-weighted group of k tasks:
/// sqrt(sum((n_i - 1) s_i^2 n_i) / (sum(n_i) - k) / sum(n_i)).
/// None where lengths differ, sizes sum to 0, or every task has one document.
Estimate PooledGroupError(std::span<const double> errors, std::span<const int64_t> sizes);

/// Error of an unweighted mean of k independent task values: sqrt(sum(s_i^2)) / k. None for k = 0.
Estimate UnweightedGroupError(std::span<const double> errors);

/// The harness's `combined_sample_stderr`, which adds the spread of the task values `values`. It
/// folds the tasks in one after the other and never advances the running size; kept as it is, for
/// comparison only. None as PooledGroupError, and where sizes give a division by 0.
Estimate CombinedGroupError(std::span<const double> errors, std::span<const int64_t> sizes,
                            std::span<const double> values);

}  // namespace natsl::core::statistics
