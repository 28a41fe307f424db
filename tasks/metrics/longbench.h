// LongBench's data sets: which metric each has, the rule of the first line, and the score of a set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/metrics/chinese_segmenter.h"
#include "tasks/metrics/code_similarity.h"

namespace natsl::tasks::metrics {

enum class LongBenchMetric {
  kQaF1,
  kQaF1Zh,
  kRouge,
  kRougeZh,
  kClassification,
  kRetrieval,
  kRetrievalZh,
  kCount,
  kCodeSimilarity,
};

/// "qa_f1", "rouge_zh", ...; an Error (data) for an unknown name.
LongBenchMetric LongBenchMetricByName(std::string_view name);
/// The metric of one of the 21 data sets; an Error (data) for an unknown name.
LongBenchMetric LongBenchMetricOf(std::string_view dataset);
/// True for the metrics that segment Chinese text and so need jieba's tables.
bool NeedsSegmenter(LongBenchMetric metric);
/// True for trec, triviaqa, samsum, lsht: only the prediction's first line is scored.
bool ScoresFirstLine(std::string_view dataset);
/// Without leading newlines, up to the next newline.
std::string_view FirstLine(std::string_view prediction);

/// What a metric may need beside the texts. `segmenter`: nothing → DefaultSegmenter() when needed.
struct LongBenchContext {
  std::span<const std::string> all_classes;
  bool has_classes = true;  ///< false: the data set has none; classification raises
  const ChineseSegmenter* segmenter = nullptr;
  SimilarityEngine engine = SimilarityEngine::kDifflib;
};

/// One prediction against one reference, 0 to 1.
double LongBenchPairScore(LongBenchMetric metric, std::string_view prediction,
                          const std::string& reference, const LongBenchContext& context);

/// Maximum over the references, starting from 0; the prediction as it is.
double LongBenchScore(LongBenchMetric metric, std::string_view prediction,
                      std::span<const std::string> references, const LongBenchContext& context);

/// The same by lm-evaluation-harness's port: the prediction stripped (not for code), its rule for
/// blank code lines.
double LongBenchHarnessScore(LongBenchMetric metric, std::string_view prediction,
                             std::span<const std::string> references,
                             const LongBenchContext& context);

/// LongBench's score of a data set, 0 to 100 with 2 decimals, first-line rule included; the divisor
/// is the number of predictions. Throws Error (data) for none.
double LongBenchDatasetScore(std::string_view dataset, std::span<const std::string> predictions,
                             std::span<const std::vector<std::string>> references,
                             const LongBenchContext& context);

/// LongBench-E: the score of each bucket of lengths ("0-4k", "4-8k", "8k+"), NaN for an empty one.
struct LongBenchEScores {
  double under_4k = 0, from_4k_to_8k = 0, from_8k = 0;
};
LongBenchEScores LongBenchEDatasetScore(std::string_view dataset,
                                        std::span<const std::string> predictions,
                                        std::span<const std::vector<std::string>> references,
                                        std::span<const double> lengths,
                                        const LongBenchContext& context);

}  // namespace natsl::tasks::metrics
