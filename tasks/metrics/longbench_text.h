// LongBench's scores of English answers, labels and numbers (each 0 to 1).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

/// Bag-of-words F1 of the normal forms (NormalizeAnswer); 0 for two empty ones.
double LongBenchQaF1(std::string_view prediction, std::string_view reference);

/// Classes found in the prediction, reduced as the reference does (it skips an element after each
/// one it removes); 1 / their number if the label is among them, else 0.
double LongBenchClassification(std::string_view prediction, const std::string& label,
                               std::span<const std::string> all_classes);

/// Share of the numbers in the prediction that equal, as text, the number after "Paragraph " (or
/// 段落) in the reference. Throws Error (data) for a reference without one.
double LongBenchRetrieval(std::string_view prediction, std::string_view reference);
double LongBenchRetrievalZh(std::string_view prediction, std::string_view reference);

/// Share of the numbers in the prediction that equal the reference as text.
double LongBenchCount(std::string_view prediction, std::string_view reference);

}  // namespace natsl::tasks::metrics
