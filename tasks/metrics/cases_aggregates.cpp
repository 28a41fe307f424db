// Cases of the harness's aggregates: means, perplexities, bootstraps, groups, wikitext pages.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/statistics/bootstrap.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/group.h"
#include "core/statistics/perplexity.h"
#include "tasks/metrics/cases.h"
#include "tasks/metrics/wikitext.h"

namespace natsl::tasks::metrics {
namespace {

namespace stats = core::statistics;

std::vector<stats::Weighted> Pairs(const Json& value) {
  std::vector<stats::Weighted> pairs;
  for (const Json& element : value) {
    const std::vector<double> numbers = AsNumbers(element, "prediction");
    if (numbers.size() != 2) throw DataError("expected pairs (log-probability, count)");
    pairs.push_back({numbers[0], numbers[1]});
  }
  return pairs;
}

/// One row of the harness's results for a group: "metric,filter" and its error.
struct GroupColumn {
  std::vector<double> values, errors;
  std::vector<int64_t> sizes;
  bool every_error = true;
};

GroupColumn ColumnOf(const Json& tasks, const std::string& key, const std::string& error_key) {
  GroupColumn column;
  for (const auto& [name, task] : tasks.items()) {
    if (!task.contains(key)) continue;
    column.values.push_back(AsNumber(task.at(key), key.c_str()));
    column.sizes.push_back(task.value("sample_len", int64_t{0}));
    const auto error = task.find(error_key);
    if (error == task.end() || error->is_null() || *error == "N/A") {
      column.every_error = false;
    } else {
      column.errors.push_back(AsNumber(*error, error_key.c_str()));
    }
  }
  return column;
}

std::vector<std::string> FiltersOf(const Json& sample, const Json& tasks,
                                   const std::string& metric) {
  const Json& listed = Extra(sample, "filter_list");
  if (listed.is_string()) return {listed.get<std::string>()};
  if (!listed.is_null()) return AsTexts(listed, "filter_list");
  std::set<std::string> found;
  for (const auto& [name, task] : tasks.items()) {
    for (const auto& [key, value] : task.items()) {
      if (key.starts_with(metric + ",") && key.find("_stderr") == std::string::npos) {
        found.insert(key.substr(metric.size() + 1));
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

Json MeanCase(const Json& sample) {
  const std::vector<double> items = AsNumbers(Field(sample, "prediction"), "prediction");
  return {{"mean", ValueOrReason(stats::Mean(items))},
          {"pop_stddev", ValueOrReason(stats::PopulationDeviation(items))},
          {"sample_stddev", ValueOrReason(stats::SampleDeviation(items))},
          {"mean_stderr", ValueOrReason(stats::MeanStandardError(items))},
          {"median", ValueOrReason(stats::UpperMedian(items))}};
}

Json PerplexityCase(const Json& sample) {
  const std::string metric = AsText(Extra(sample, "metric"), "metric");
  const Json& items = Field(sample, "prediction");
  if (metric == "perplexity") {
    return ValueOrThrow(stats::Perplexity(AsNumbers(items, "prediction")));
  }
  if (metric == "weighted_perplexity") {
    return ValueOrThrow(stats::WeightedPerplexity(Pairs(items)));
  }
  if (metric == "bits_per_byte") return ValueOrThrow(stats::BitsPerByte(Pairs(items)));
  throw DataError("extra.metric is '{}', expected perplexity, weighted_perplexity or bits_per_byte",
                  metric);
}

Json BootstrapCase(const Json& sample) {
  const std::string aggregation = AsText(Extra(sample, "aggregation"), "aggregation");
  const int64_t iterations =
      AsIntegers(Json::array({Extra(sample, "bootstrap_iters")}), "bootstrap_iters")[0];
  if (iterations <= 0) return nullptr;
  if (aggregation == "bits_per_byte" || aggregation == "weighted_perplexity") return nullptr;
  const std::vector<double> items = AsNumbers(Field(sample, "prediction"), "prediction");
  if (aggregation == "mean") return ValueOrThrow(stats::MeanStandardError(items));
  if (aggregation == "perplexity") {
    return ValueOrThrow(stats::BootstrapPerplexityError(items, iterations));
  }
  if (aggregation == "median") {
    return ValueOrThrow(stats::BootstrapError(items, stats::UpperMedian, iterations));
  }
  if (aggregation == "nanmean") {
    return ValueOrThrow(stats::BootstrapError(items, stats::NumpyNanMean, iterations));
  }
  throw DataError("extra.aggregation '{}' isn't supported", aggregation);
}

Json WikitextCase(const Json& sample) {
  const std::string page = Prediction(sample);
  const double log_prob = AsNumber(Extra(sample, "loglikelihood"), "loglikelihood");
  const int64_t words = WikitextWords(page), bytes = static_cast<int64_t>(page.size());
  const stats::Weighted by_word = {log_prob, static_cast<double>(words)};
  const stats::Weighted by_byte = {log_prob, static_cast<double>(bytes)};
  return {{"detokenized", WikitextDetokenize(page)},
          {"words", words},
          {"bytes", bytes},
          {"word_perplexity", ValueOrReason(stats::WeightedPerplexity(std::span(&by_word, 1)))},
          {"byte_perplexity", ValueOrReason(stats::WeightedPerplexity(std::span(&by_byte, 1)))},
          {"bits_per_byte", ValueOrReason(stats::BitsPerByte(std::span(&by_byte, 1)))}};
}

Json GroupCase(const Json& sample) {
  const auto values = AsNumbers(Field(sample, "prediction"), "prediction");
  const auto errors = AsNumbers(Extra(sample, "stderrs"), "stderrs");
  const auto sizes = AsIntegers(Extra(sample, "sizes"), "sizes");
  return {
      {"pooled_sample_stderr", ValueOrReason(stats::PooledGroupError(errors, sizes))},
      {"unweighted_mean_stderr", ValueOrReason(stats::UnweightedGroupError(errors))},
      {"combined_sample_stderr", ValueOrReason(stats::CombinedGroupError(errors, sizes, values))},
      {"aggregate_weighted", ValueOrReason(stats::GroupMean(values, sizes, true))},
      {"aggregate_unweighted", ValueOrReason(stats::GroupMean(values, sizes, false))}};
}

Json GroupClassCase(const Json& sample) {
  const Json& tasks = Field(sample, "prediction");
  const std::string metric = AsText(Extra(sample, "metric"), "metric");
  const bool weighted = Extra(sample, "weight_by_size") != Json(false);
  Json row = {{"alias", "g"}, {"name", "g"}};
  int64_t total = 0;
  for (const auto& [name, task] : tasks.items()) total += task.value("sample_len", int64_t{0});
  row["sample_len"] = total;
  Json counts = Json::object();
  for (const std::string& filter : FiltersOf(sample, tasks, metric)) {
    const std::string key = metric + "," + filter, error_key = metric + "_stderr," + filter;
    const GroupColumn column = ColumnOf(tasks, key, error_key);
    if (column.values.empty()) continue;
    row[key] = ValueOrThrow(stats::GroupMean(column.values, column.sizes, weighted));
    int64_t count = 0;
    for (const int64_t size : column.sizes) count += size;
    counts[key] = count;
    if (!column.every_error) {
      row[error_key] = "N/A";
    } else {
      row[error_key] = ValueOrThrow(weighted ? stats::PooledGroupError(column.errors, column.sizes)
                                             : stats::UnweightedGroupError(column.errors));
    }
  }
  if (!counts.empty()) row["sample_count"] = counts;
  return row;
}

}  // namespace natsl::tasks::metrics
