// LongBench's scores of Chinese answers (0 to 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/metrics/chinese_segmenter.h"

namespace natsl::tasks::metrics {

/// The tokens that are counted: each lower-cased, without ASCII and Chinese punctuation and white
/// space; tokens of which nothing is left are dropped.
std::vector<std::string> ChineseTokens(std::string_view text, const ChineseSegmenter& segmenter);

/// Bag-of-tokens F1; 0 for two empty bags.
double LongBenchQaF1Zh(std::string_view prediction, std::string_view reference,
                       const ChineseSegmenter& segmenter);

/// RougeL over the tokens joined by spaces.
double LongBenchRougeZh(std::string_view prediction, std::string_view reference,
                        const ChineseSegmenter& segmenter);

}  // namespace natsl::tasks::metrics
