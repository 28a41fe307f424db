// Cases of LongBench's metrics and of its data-set scores.
#include "core/error.h"
#include "tasks/metrics/cases.h"
#include "tasks/metrics/longbench.h"

namespace natsl::tasks::metrics {
namespace {

/// The labels of a case; `context.all_classes` refers to `labels`.
LongBenchContext ContextOf(const Json& sample, std::vector<std::string>& labels) {
  LongBenchContext context;
  const Json& classes = Extra(sample, "all_classes");
  context.has_classes = !classes.is_null();
  if (context.has_classes) labels = AsTexts(classes, "all_classes");
  context.all_classes = labels;
  return context;
}

template <LongBenchMetric metric>
Json Score(const Json& sample) {
  std::vector<std::string> labels;
  const LongBenchContext context = ContextOf(sample, labels);
  return LongBenchScore(metric, Prediction(sample), References(sample), context);
}

}  // namespace

Json QaF1Case(const Json& sample) { return Score<LongBenchMetric::kQaF1>(sample); }
Json QaF1ZhCase(const Json& sample) { return Score<LongBenchMetric::kQaF1Zh>(sample); }
Json RougeCase(const Json& sample) { return Score<LongBenchMetric::kRouge>(sample); }
Json RougeZhCase(const Json& sample) { return Score<LongBenchMetric::kRougeZh>(sample); }
Json ClassificationCase(const Json& sample) {
  return Score<LongBenchMetric::kClassification>(sample);
}
Json RetrievalCase(const Json& sample) { return Score<LongBenchMetric::kRetrieval>(sample); }
Json RetrievalZhCase(const Json& sample) { return Score<LongBenchMetric::kRetrievalZh>(sample); }
Json CountCase(const Json& sample) { return Score<LongBenchMetric::kCount>(sample); }
Json CodeSimilarityCase(const Json& sample) {
  return Score<LongBenchMetric::kCodeSimilarity>(sample);
}

Json HarnessLongBenchCase(const Json& sample) {
  std::vector<std::string> labels;
  const LongBenchContext context = ContextOf(sample, labels);
  const auto metric = LongBenchMetricByName(AsText(Extra(sample, "metric"), "metric"));
  return LongBenchHarnessScore(metric, Prediction(sample), References(sample), context);
}

Json LongBenchScorerCase(const Json& sample) {
  std::vector<std::string> labels;
  const LongBenchContext context = ContextOf(sample, labels);
  return LongBenchDatasetScore(AsText(Extra(sample, "dataset"), "dataset"),
                               AsTexts(Field(sample, "prediction"), "prediction"),
                               AsTextLists(Field(sample, "references"), "references"), context);
}

Json LongBenchScorerECase(const Json& sample) {
  std::vector<std::string> labels;
  const LongBenchContext context = ContextOf(sample, labels);
  const auto scores =
      LongBenchEDatasetScore(AsText(Extra(sample, "dataset"), "dataset"),
                             AsTexts(Field(sample, "prediction"), "prediction"),
                             AsTextLists(Field(sample, "references"), "references"),
                             AsNumbers(Extra(sample, "lengths"), "lengths"), context);
  return {{"0-4k", NumberJson(scores.under_4k)},
          {"4-8k", NumberJson(scores.from_4k_to_8k)},
          {"8k+", NumberJson(scores.from_8k)}};
}

}  // namespace natsl::tasks::metrics
