// From the documents' values of a metric to one number with its standard error.
#pragma once

#include <span>
#include <vector>

#include "reports/run_record.h"
#include "tasks/registry.h"
#include "tasks/task.h"

namespace natsl::evaluators {

/// Name of an aggregation as the reference's configs spell it.
const char* Name(tasks::Aggregation aggregation);

/// `values`: one entry a document that carries the metric, in document order. Undefined results
/// are null with the reason. The result doesn't depend on `threads`.
reports::MetricRecord Aggregate(const tasks::MetricCard& card,
                                const std::vector<std::vector<double>>& values, int threads);

/// The rows of a group over its tasks' records: one a metric that at least one of them has.
reports::GroupRecord AggregateGroup(const tasks::GroupEntry& group,
                                    std::span<const reports::TaskRecord* const> members);

}  // namespace natsl::evaluators
