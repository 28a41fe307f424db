// LongBench's data sets and their scores.
#include "tasks/metrics/longbench.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/python_arithmetic.h"
#include "core/utf8.h"
#include "tasks/metrics/longbench_chinese.h"
#include "tasks/metrics/longbench_text.h"
#include "tasks/metrics/rouge.h"

namespace natsl::tasks::metrics {
namespace {

using M = LongBenchMetric;

struct Named {
  std::string_view name;
  LongBenchMetric metric;
};

constexpr Named kMetrics[] = {
    {"qa_f1", M::kQaF1},
    {"qa_f1_zh", M::kQaF1Zh},
    {"rouge", M::kRouge},
    {"rouge_zh", M::kRougeZh},
    {"classification", M::kClassification},
    {"retrieval", M::kRetrieval},
    {"retrieval_zh", M::kRetrievalZh},
    {"count", M::kCount},
    {"code_sim", M::kCodeSimilarity},
};

constexpr Named kDatasets[] = {
    {"narrativeqa", M::kQaF1},
    {"qasper", M::kQaF1},
    {"multifieldqa_en", M::kQaF1},
    {"multifieldqa_zh", M::kQaF1Zh},
    {"hotpotqa", M::kQaF1},
    {"2wikimqa", M::kQaF1},
    {"musique", M::kQaF1},
    {"dureader", M::kRougeZh},
    {"gov_report", M::kRouge},
    {"qmsum", M::kRouge},
    {"multi_news", M::kRouge},
    {"vcsum", M::kRougeZh},
    {"trec", M::kClassification},
    {"triviaqa", M::kQaF1},
    {"samsum", M::kRouge},
    {"lsht", M::kClassification},
    {"passage_count", M::kCount},
    {"passage_retrieval_en", M::kRetrieval},
    {"passage_retrieval_zh", M::kRetrievalZh},
    {"lcc", M::kCodeSimilarity},
    {"repobench-p", M::kCodeSimilarity},
};

LongBenchMetric FindByName(std::span<const Named> table, std::string_view name, const char* what) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.metric;
  }
  throw DataError("LongBench has no {} '{}'", what, name);
}

/// Score of one sample of a data set, by its metric and its rule for the first line.
double SampleScore(std::string_view dataset, std::string_view prediction,
                   std::span<const std::string> references, const LongBenchContext& context) {
  if (ScoresFirstLine(dataset)) prediction = FirstLine(prediction);
  return LongBenchScore(LongBenchMetricOf(dataset), prediction, references, context);
}

}  // namespace

LongBenchMetric LongBenchMetricByName(std::string_view name) {
  return FindByName(kMetrics, name, "metric");
}

LongBenchMetric LongBenchMetricOf(std::string_view dataset) {
  return FindByName(kDatasets, dataset, "data set");
}

bool NeedsSegmenter(LongBenchMetric metric) {
  return metric == M::kQaF1Zh || metric == M::kRougeZh;
}

bool ScoresFirstLine(std::string_view dataset) {
  return dataset == "trec" || dataset == "triviaqa" || dataset == "samsum" || dataset == "lsht";
}

std::string_view FirstLine(std::string_view prediction) {
  prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
  return prediction.substr(0, prediction.find('\n'));
}

double LongBenchPairScore(LongBenchMetric metric, std::string_view prediction,
                          const std::string& reference, const LongBenchContext& context) {
  const auto segmenter = [&]() -> const ChineseSegmenter& {
    return context.segmenter != nullptr ? *context.segmenter : DefaultSegmenter();
  };
  switch (metric) {
    case M::kQaF1:
      return LongBenchQaF1(prediction, reference);
    case M::kQaF1Zh:
      return LongBenchQaF1Zh(prediction, reference, segmenter());
    case M::kRouge:
      return RougeL(prediction, reference);
    case M::kRougeZh:
      return LongBenchRougeZh(prediction, reference, segmenter());
    case M::kClassification:
      if (!context.has_classes) throw DataError("classification: the sample has no all_classes");
      return LongBenchClassification(prediction, reference, context.all_classes);
    case M::kRetrieval:
      return LongBenchRetrieval(prediction, reference);
    case M::kRetrievalZh:
      return LongBenchRetrievalZh(prediction, reference);
    case M::kCount:
      return LongBenchCount(prediction, reference);
    case M::kCodeSimilarity:
      return LongBenchCodeSimilarity(prediction, reference, context.engine);
  }
  throw InternalError("LongBench metric {} has no function", static_cast<int>(metric));
}

double LongBenchScore(LongBenchMetric metric, std::string_view prediction,
                      std::span<const std::string> references, const LongBenchContext& context) {
  double best = 0;
  for (const std::string& reference : references) {
    best = std::max(best, LongBenchPairScore(metric, prediction, reference, context));
  }
  return best;
}

double LongBenchHarnessScore(LongBenchMetric metric, std::string_view prediction,
                             std::span<const std::string> references,
                             const LongBenchContext& context) {
  if (metric != M::kCodeSimilarity) {
    return LongBenchScore(metric, core::PythonStrip(prediction), references, context);
  }
  double best = 0;
  for (const std::string& reference : references) {
    best = std::max(best, HarnessCodeSimilarity(prediction, reference));
  }
  return best;
}

double LongBenchDatasetScore(std::string_view dataset, std::span<const std::string> predictions,
                             std::span<const std::vector<std::string>> references,
                             const LongBenchContext& context) {
  if (predictions.empty()) throw DataError("LongBench {}: no predictions", dataset);
  double total = 0;
  for (size_t i = 0; i < std::min(predictions.size(), references.size()); ++i) {
    total += SampleScore(dataset, predictions[i], references[i], context);
  }
  return core::statistics::PythonRound(100 * total / static_cast<double>(predictions.size()), 2);
}

LongBenchEScores LongBenchEDatasetScore(std::string_view dataset,
                                        std::span<const std::string> predictions,
                                        std::span<const std::vector<std::string>> references,
                                        std::span<const double> lengths,
                                        const LongBenchContext& context) {
  std::array<std::vector<double>, 3> buckets;
  const size_t count = std::min({predictions.size(), references.size(), lengths.size()});
  for (size_t i = 0; i < count; ++i) {
    const size_t bucket = lengths[i] < 4000 ? 0 : lengths[i] < 8000 ? 1 : 2;
    buckets[bucket].push_back(SampleScore(dataset, predictions[i], references[i], context));
  }
  const auto score = [](const std::vector<double>& values) {
    const auto mean = core::statistics::NumpyMean(values);
    return mean.has_value() ? core::statistics::NumpyRound(100 * mean.value(), 2) : std::nan("");
  };
  return {score(buckets[0]), score(buckets[1]), score(buckets[2])};
}

}  // namespace natsl::tasks::metrics
