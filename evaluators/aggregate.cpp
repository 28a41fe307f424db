#include "evaluators/aggregate.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "core/statistics/group.h"
#include "core/statistics/proportion.h"
#include "tasks/metrics/aggregation.h"

namespace natsl::evaluators {
namespace {

namespace statistics = core::statistics;

reports::Number ToNumber(const statistics::Estimate& estimate) {
  if (!estimate.has_value()) return reports::Number::Missing(estimate.because());
  return reports::Number::Of(estimate.value());
}

constexpr double kNormal95 = 1.959963984540054;

/// The normal interval, where there is an error.
void AddNormalInterval(reports::MetricRecord& record) {
  if (!record.value.value || !record.standard_error.value) {
    record.low = record.high = reports::Number::Missing(
        record.value.value ? record.standard_error.reason : record.value.reason);
    return;
  }
  const double half = kNormal95 * *record.standard_error.value;
  record.low = reports::Number::Of(*record.value.value - half);
  record.high = reports::Number::Of(*record.value.value + half);
  record.interval_method = "normal";
}

/// Wilson's interval for the mean of documents that are right or wrong, else the normal one.
void AddInterval(const tasks::MetricCard& card, const std::vector<std::vector<double>>& values,
                 reports::MetricRecord& record) {
  const bool mean = card.aggregation == tasks::Aggregation::kMean ||
                    card.aggregation == tasks::Aggregation::kMeanWithoutError;
  int64_t right = 0;
  for (const std::vector<double>& value : values) {
    if (!mean || value.size() != 1 || (value[0] != 0 && value[0] != 1)) {
      return AddNormalInterval(record);
    }
    right += value[0] == 1;
  }
  const statistics::Interval interval = statistics::WilsonInterval(right, core::Size(values));
  const auto scaled = [&](const statistics::Estimate& end) {
    return end.has_value() ? reports::Number::Of(end.value() * card.scale)
                           : reports::Number::Missing(end.because());
  };
  record.low = scaled(interval.low);
  record.high = scaled(interval.high);
  record.interval_method = "wilson";
}

const reports::MetricRecord* FindMetric(const reports::TaskRecord& task, const std::string& name,
                                        const std::string& filter) {
  for (const reports::MetricRecord& metric : task.metrics) {
    if (metric.name == name && metric.filter == filter) return &metric;
  }
  return nullptr;
}

/// The unweighted mean of the columns that a group names.
reports::MetricRecord ColumnAverage(const tasks::GroupEntry& group,
                                    std::span<const reports::TaskRecord* const> members) {
  reports::MetricRecord row;
  row.name = "average";
  row.aggregation = "mean";
  std::vector<double> values, errors;
  std::string missing, missing_error;
  for (const tasks::GroupColumn& column : group.columns) {
    const reports::MetricRecord* metric = nullptr;
    for (const reports::TaskRecord* task : members) {
      if (task->name != column.task) continue;
      for (const reports::MetricRecord& candidate : task->metrics) {
        if (candidate.name == column.metric) metric = &candidate;
      }
    }
    if (metric == nullptr || !metric->value.value) {
      missing = fmt::format("{} has no {}", column.task, column.metric);
      continue;
    }
    values.push_back(*metric->value.value);
    row.n += metric->n;
    if (metric->standard_error.value) {
      errors.push_back(*metric->standard_error.value);
    } else {
      missing_error = fmt::format("{}: {}", column.task, metric->standard_error.reason);
    }
  }
  row.value =
      missing.empty()
          ? ToNumber(statistics::GroupMean(values, std::vector<int64_t>(values.size(), 1), false))
          : reports::Number::Missing(missing);
  row.standard_error = !missing.empty() ? reports::Number::Missing(missing)
                       : !missing_error.empty()
                           ? reports::Number::Missing(missing_error)
                           : ToNumber(statistics::UnweightedGroupError(errors));
  AddNormalInterval(row);
  return row;
}

}  // namespace

const char* Name(tasks::Aggregation aggregation) {
  switch (aggregation) {
    case tasks::Aggregation::kMean:
    case tasks::Aggregation::kMeanWithoutError:
      return "mean";
    case tasks::Aggregation::kPerplexity:
      return "perplexity";
    case tasks::Aggregation::kWeightedPerplexity:
      return "weighted_perplexity";
    case tasks::Aggregation::kBitsPerByte:
      return "bits_per_byte";
    case tasks::Aggregation::kWeightedMean:
      return "weighted_mean";
    case tasks::Aggregation::kBestOverThresholds:
      return "best_over_thresholds";
  }
  return "?";
}

reports::MetricRecord Aggregate(const tasks::MetricCard& card,
                                const std::vector<std::vector<double>>& values, int threads) {
  reports::MetricRecord record;
  record.name = card.name;
  record.filter = card.filter;
  record.aggregation = Name(card.aggregation);
  record.higher_is_better = card.higher_is_better;
  record.n = core::Size(values);
  if (values.empty()) {
    record.value = reports::Number::Missing("no evaluated document has this metric");
    record.standard_error = record.low = record.high = record.value;
    return record;
  }
  const tasks::metrics::Aggregate aggregate =
      tasks::metrics::AggregateMetric(card, values, core::statistics::kDefaultReplicates, threads);
  record.value = ToNumber(aggregate.value);
  record.standard_error = ToNumber(aggregate.error);
  AddInterval(card, values, record);
  return record;
}

reports::GroupRecord AggregateGroup(const tasks::GroupEntry& group,
                                    std::span<const reports::TaskRecord* const> members) {
  reports::GroupRecord record;
  record.name = group.name;
  record.aggregate = group.aggregate || !group.columns.empty();
  std::vector<std::pair<std::string, std::string>> keys;
  for (const reports::TaskRecord* task : members) {
    record.tasks.push_back(task->name);
    record.evaluated += task->evaluated;
    for (const reports::MetricRecord& metric : task->metrics) {
      const std::pair key(metric.name, metric.filter);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  if (!group.columns.empty()) record.metrics.push_back(ColumnAverage(group, members));
  if (!group.aggregate) return record;
  for (const auto& [name, filter] : keys) {
    std::vector<double> values, errors;
    std::vector<int64_t> sizes;
    reports::MetricRecord row;
    row.name = name;
    row.filter = filter;
    row.aggregation = "mean";
    std::string missing_value, missing_error;
    for (const reports::TaskRecord* task : members) {
      const reports::MetricRecord* metric = FindMetric(*task, name, filter);
      if (metric == nullptr) continue;
      row.higher_is_better = metric->higher_is_better;
      row.n += metric->n;
      sizes.push_back(metric->n);
      if (metric->value.value)
        values.push_back(*metric->value.value);
      else
        missing_value = fmt::format("task {}: {}", task->name, metric->value.reason);
      if (metric->standard_error.value)
        errors.push_back(*metric->standard_error.value);
      else
        missing_error = fmt::format("task {}: {}", task->name, metric->standard_error.reason);
    }
    row.value = missing_value.empty()
                    ? ToNumber(statistics::GroupMean(values, sizes, group.weight_by_size))
                    : reports::Number::Missing(missing_value);
    row.standard_error = !missing_error.empty() ? reports::Number::Missing(missing_error)
                         : group.weight_by_size
                             ? ToNumber(statistics::PooledGroupError(errors, sizes))
                             : ToNumber(statistics::UnweightedGroupError(errors));
    AddNormalInterval(row);
    record.metrics.push_back(std::move(row));
  }
  return record;
}

}  // namespace natsl::evaluators
