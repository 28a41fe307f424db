// DROP's exact match and F1 over answers of several spans.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks::metrics {

/// The normal form of a span: tokens at " " and "-", each lower-cased, without punctuation unless
/// it is a number, numbers as Python prints them, articles removed.
std::string DropNormalize(std::string_view span);

struct DropScore {
  double em = 0;
  double f1 = 0;  ///< rounded to 2 decimals; NaN where neither side has a span
};

/// The official score of predicted spans against the spans of one answer.
DropScore DropOfficial(std::span<const std::string> predicted, std::span<const std::string> gold);

using DropAnswer = std::vector<std::string>;

/// lm-evaluation-harness: maxima over the answers whose first span isn't blank. Throws Error (data)
/// for an answer without spans.
DropScore DropHarness(const std::string& prediction, std::span<const DropAnswer> golds);

/// An answer object of the dataset {number, date{day, month, year}, spans}.
struct DropAnswerFields {
  std::string number, day, month, year;
  std::vector<std::string> spans;
};
/// Its spans: the number, else the spans, else the date (stripped).
DropAnswer SpansOfAnswer(const DropAnswerFields& answer);
/// Answers of a document, the main one first, without repetitions.
std::vector<DropAnswer> DistinctAnswers(std::span<const DropAnswerFields> candidates);

}  // namespace natsl::tasks::metrics
