// The reference harness's exact_match.
#include "tasks/metrics/exact_match.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/utf8.h"

namespace natsl::tasks::metrics {
namespace {

/// numpy's fixed-width strings drop trailing NULs.
void DropTrailingNulls(std::string& text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
}

/// The first `width` code points.
void CutTo(std::string& text, int64_t width) {
  size_t position = 0;
  for (int64_t i = 0; i < width && position < text.size(); ++i) core::NextCodePoint(text, position);
  text.resize(position);
}

}  // namespace

ExactMatch::ExactMatch(ExactMatchOptions options) : options_(std::move(options)) {
  if (!options_.regexes_to_ignore.empty()) {
    remover_ = std::make_unique<PatternRemover>(options_.regexes_to_ignore);
  }
}

std::vector<std::string> ExactMatch::Prepare(std::span<const std::string> texts) const {
  std::vector<std::string> prepared(texts.begin(), texts.end());
  int64_t width = 0;
  for (std::string& text : prepared) {
    if (remover_) text = (*remover_)(text);
    width = std::max(width, core::CountCodePoints(text));
  }
  for (std::string& text : prepared) {
    DropTrailingNulls(text);
    if (options_.ignore_case) {
      const size_t bytes = text.size();
      text = Lower(text);
      if (text.size() > bytes) CutTo(text, width);
    }
    if (options_.ignore_punctuation) text = RemoveAsciiPunctuation(text);
    if (options_.ignore_numbers) text = RemoveAsciiDigits(text);
    DropTrailingNulls(text);
  }
  return prepared;
}

double ExactMatch::Mean(std::span<const std::string> predictions,
                        std::span<const std::string> references) const {
  const bool changes =
      options_.ignore_case || options_.ignore_punctuation || options_.ignore_numbers;
  if (changes && (predictions.empty() || references.empty())) {
    throw DataError("exact_match: an empty list has no strings to change");
  }
  const size_t n = predictions.size(), m = references.size();
  if (n != m && n != 1 && m != 1) {
    throw DataError("exact_match: {} predictions can't be paired with {} references", n, m);
  }
  if (n == 0 || m == 0) return std::nan("");
  const std::vector<std::string> left = Prepare(predictions), right = Prepare(references);
  const size_t pairs = std::max(n, m);
  int64_t equal = 0;
  for (size_t i = 0; i < pairs; ++i) {
    if (left[n == 1 ? 0 : i] == right[m == 1 ? 0 : i]) ++equal;
  }
  return static_cast<double>(equal) / static_cast<double>(pairs);
}

double ExactMatch::AnyOf(const std::string& prediction,
                         std::span<const std::string> references) const {
  if (references.empty()) throw DataError("exact_match: the answer list is empty");
  return Mean(std::span(&prediction, 1), references) > 0 ? 1 : 0;
}

const ExactMatch& NqOpenExactMatch() {
  static const ExactMatch metric({.regexes_to_ignore = {R"(\b(?:The |the |An |A |The |a |an ))"},
                                  .ignore_case = true,
                                  .ignore_punctuation = true});
  return metric;
}

const ExactMatch& TriviaQaExactMatch() {
  static const ExactMatch metric(
      {.regexes_to_ignore = {}, .ignore_case = true, .ignore_punctuation = true});
  return metric;
}

}  // namespace natsl::tasks::metrics
