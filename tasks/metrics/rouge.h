// ROUGE-L as the package `rouge` 1.0.1 and LongBench compute it: summary level, set-based. It is
// not Google's rouge_score: words count once, only "." splits sentences, a perfect match is
// 0.999999995.
#pragma once

#include <string_view>

namespace natsl::tasks::metrics {

/// F of ROUGE-L; 0 where the package raises: a side without pieces, and a pair of pieces whose
/// backtracking takes more than 990 moves (Python's recursion limit).
double RougeL(std::string_view prediction, std::string_view reference);

}  // namespace natsl::tasks::metrics
