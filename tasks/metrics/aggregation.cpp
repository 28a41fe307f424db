// Which statistic each aggregation is.
#include "tasks/metrics/aggregation.h"

#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/perplexity.h"
#include "tasks/metrics/squad.h"

namespace natsl::tasks::metrics {
namespace {

using core::statistics::Estimate;
using core::statistics::Weighted;

bool IsWeighted(Aggregation aggregation) {
  return aggregation == Aggregation::kWeightedPerplexity ||
         aggregation == Aggregation::kBitsPerByte || aggregation == Aggregation::kWeightedMean;
}

Estimate Scaled(const Estimate& estimate, double scale) {
  return estimate.has_value() ? Estimate(estimate.value() * scale) : estimate;
}

Aggregate OfSingles(const MetricCard& metric, std::span<const double> values, int64_t replicates,
                    int threads) {
  namespace stats = core::statistics;
  switch (metric.aggregation) {
    case Aggregation::kMean:
      return {stats::Mean(values), stats::MeanStandardError(values)};
    case Aggregation::kPerplexity:
      return {stats::Perplexity(values),
              values.size() < 2 ? Estimate::None("an error needs at least two documents")
                                : stats::BootstrapPerplexityError(values, replicates, threads)};
    default:
      return {stats::NumpyMean(values), Estimate::None("the protocol defines no error")};
  }
}

Aggregate OfPairs(const MetricCard& metric, std::span<const Weighted> items) {
  namespace stats = core::statistics;
  const Estimate none = Estimate::None("the protocol defines no error");
  switch (metric.aggregation) {
    case Aggregation::kWeightedPerplexity:
      return {stats::WeightedPerplexity(items), none};
    case Aggregation::kBitsPerByte:
      return {stats::BitsPerByte(items), none};
    default:
      return {stats::WeightedMean(items), none};
  }
}

/// How many numbers an entry of the aggregation has.
size_t WidthOf(Aggregation aggregation) {
  if (aggregation == Aggregation::kBestOverThresholds) return 4;
  return IsWeighted(aggregation) ? 2 : 1;
}

Aggregate OfThresholds(std::span<const std::vector<double>> values) {
  const Estimate none = Estimate::None("the protocol defines no error");
  if (values.empty()) return {Estimate::None("the best score of no questions"), none};
  std::vector<ThresholdItem> items;
  items.reserve(values.size());
  for (const auto& entry : values) {
    items.push_back({entry[0], entry[1] != 0, entry[2] != 0, entry[3]});
  }
  return {BestOverThresholds(items).score / 100, none};
}

}  // namespace

Aggregate AggregateMetric(const MetricCard& metric, std::span<const std::vector<double>> values,
                          int64_t replicates, int threads) {
  const size_t width = WidthOf(metric.aggregation);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() != width) {
      throw InternalError("metric {}: entry {} has {} values, its aggregation reads {}",
                          metric.name, i, values[i].size(), width);
    }
  }
  Aggregate result{0, 0};
  if (width == 4) {
    result = OfThresholds(values);
  } else if (width == 2) {
    std::vector<Weighted> items;
    items.reserve(values.size());
    for (const auto& pair : values) items.push_back({pair[0], pair[1]});
    result = OfPairs(metric, items);
  } else {
    std::vector<double> singles;
    singles.reserve(values.size());
    for (const auto& single : values) singles.push_back(single[0]);
    result = OfSingles(metric, singles, replicates, threads);
  }
  return {Scaled(result.value, metric.scale), Scaled(result.error, metric.scale)};
}

}  // namespace natsl::tasks::metrics
