// From the values of one metric over documents to the number that is reported and its error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics/bootstrap.h"
#include "core/statistics/estimate.h"
#include "tasks/task.h"

namespace natsl::tasks::metrics {

struct Aggregate {
  core::statistics::Estimate value;
  /// None where the reference reports "N/A": no error is defined, or fewer than two documents.
  core::statistics::Estimate error;
};

/// `values`: one entry a document in which the metric applies, in document order, with as many
/// numbers as the aggregation reads (1, or a sum and a count). Both results are multiplied by
/// `metric.scale`. `replicates`: of the bootstrap; `threads`: 0 for all. The result does not depend
/// on `threads`. Throws Error (internal) on an entry with another number of values.
Aggregate AggregateMetric(const MetricCard& metric, std::span<const std::vector<double>> values,
                          int64_t replicates = core::statistics::kDefaultReplicates,
                          int threads = 0);

}  // namespace natsl::tasks::metrics
