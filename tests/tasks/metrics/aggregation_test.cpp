// Every aggregation on small inputs, and what has no error or no value.
#include "tasks/metrics/aggregation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace natsl::tasks::metrics {
namespace {

using Values = std::vector<std::vector<double>>;

Aggregate Of(Aggregation aggregation, const Values& values, double scale = 1) {
  MetricCard metric;
  metric.name = "m";
  metric.aggregation = aggregation;
  metric.scale = scale;
  return AggregateMetric(metric, values, 2000);
}

TEST(AggregationTest, EachKind) {
  const Values accuracy = {{1}, {0}, {1}, {1}, {0}};
  EXPECT_EQ(Of(Aggregation::kMean, accuracy).value.value(), 0.6);
  EXPECT_EQ(Of(Aggregation::kMean, accuracy).error.value(), 0.24494897427831783);
  EXPECT_EQ(Of(Aggregation::kMeanWithoutError, accuracy, 100).value.value(), 60);
  EXPECT_FALSE(Of(Aggregation::kMeanWithoutError, accuracy).error.has_value());
  const Values losses = {{-0.5}, {-1.0}, {-2.0}, {-4.0}, {-0.25}};
  EXPECT_EQ(Of(Aggregation::kPerplexity, losses).value.value(), 4.711470182590742);
  EXPECT_EQ(Of(Aggregation::kPerplexity, losses).error.value(), 4.377293588881815);
  const Values pairs = {{-1, 2}, {-3, 4}};
  EXPECT_EQ(Of(Aggregation::kWeightedPerplexity, pairs).value.value(), std::exp(4.0 / 6));
  EXPECT_EQ(Of(Aggregation::kBitsPerByte, pairs).value.value(), 4.0 / 6 / std::log(2.0));
  EXPECT_EQ(Of(Aggregation::kWeightedMean, pairs).value.value(), -4.0 / 6);
  EXPECT_FALSE(Of(Aggregation::kBitsPerByte, pairs).error.has_value());
}

TEST(AggregationTest, UndefinedHasNoValue) {
  EXPECT_FALSE(Of(Aggregation::kMean, {}).value.has_value());
  EXPECT_FALSE(Of(Aggregation::kMean, {{1}}).error.has_value());
  EXPECT_FALSE(Of(Aggregation::kPerplexity, {{-1}}).error.has_value());
  EXPECT_FALSE(Of(Aggregation::kWeightedMean, {{1, 0}}).value.has_value());
  EXPECT_THROW(Of(Aggregation::kMean, {{1, 2}}), Error);
}

}  // namespace
}  // namespace natsl::tasks::metrics
