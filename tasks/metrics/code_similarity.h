// LongBench's similarity of code lines: fuzzywuzzy's ratio over difflib or over Levenshtein.
#pragma once

#include <string_view>

namespace natsl::tasks::metrics {

enum class SimilarityEngine {
  kDifflib,      ///< what LongBench's requirements install
  kLevenshtein,  ///< what fuzzywuzzy uses where python-Levenshtein is installed
};

/// 0 to 100: 100 for equal texts, 0 where one is empty, else round(200 M / (|a| + |b|)) over code
/// points, ties to even. M: matched characters (difflib's blocks, or the longest common
/// subsequence).
int SimilarityRatio(std::string_view a, std::string_view b, SimilarityEngine engine);

/// First line without "`", "#" and "//" after leading newlines (else ""), compared with the
/// reference; 0 to 1.
double LongBenchCodeSimilarity(std::string_view prediction, std::string_view reference,
                               SimilarityEngine engine = SimilarityEngine::kDifflib);

/// As lm-evaluation-harness's port has it: lines of white space alone are passed over too.
double HarnessCodeSimilarity(std::string_view prediction, std::string_view reference);

}  // namespace natsl::tasks::metrics
