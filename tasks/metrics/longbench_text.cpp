// LongBench's scores of English answers, labels and numbers.
#include "tasks/metrics/longbench_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"
#include "tasks/metrics/python_text.h"
#include "tasks/metrics/token_f1.h"

namespace natsl::tasks::metrics {
namespace {

double ShareOfNumbers(std::string_view prediction, std::string_view wanted) {
  const std::vector<std::string> numbers = DigitRuns(prediction);
  if (numbers.empty()) return 0;
  const auto right = std::count(numbers.begin(), numbers.end(), wanted);
  return static_cast<double>(right) / static_cast<double>(numbers.size());
}

/// First group of `marker`(\d+).
std::string NumberAfter(std::string_view text, std::string_view marker) {
  for (size_t found = text.find(marker); found != std::string_view::npos;
       found = text.find(marker, found + 1)) {
    const std::string_view rest = text.substr(found + marker.size());
    size_t end = 0;
    while (end < rest.size()) {
      size_t next = end;
      if (!IsDecimalDigit(core::NextCodePoint(rest, next))) break;
      end = next;
    }
    if (end > 0) return std::string(rest.substr(0, end));
  }
  throw DataError("the reference \"{}\" has no number after \"{}\"", text, marker);
}

}  // namespace

double LongBenchQaF1(std::string_view prediction, std::string_view reference) {
  return TokenF1(SplitWords(NormalizeAnswer(prediction)), SplitWords(NormalizeAnswer(reference)));
}

double LongBenchClassification(std::string_view prediction, const std::string& label,
                               std::span<const std::string> all_classes) {
  std::vector<std::string> hits;
  for (const std::string& name : all_classes) {
    if (prediction.find(name) != std::string_view::npos) hits.push_back(name);
  }
  for (size_t i = 0; i < hits.size(); ++i) {
    const std::string name = hits[i];
    if (name == label || label.find(name) == std::string::npos) continue;
    hits.erase(std::find(hits.begin(), hits.end(), name));
  }
  if (std::find(hits.begin(), hits.end(), label) == hits.end()) return 0;
  return 1.0 / static_cast<double>(hits.size());
}

double LongBenchRetrieval(std::string_view prediction, std::string_view reference) {
  return ShareOfNumbers(prediction, NumberAfter(reference, "Paragraph "));
}

double LongBenchRetrievalZh(std::string_view prediction, std::string_view reference) {
  return ShareOfNumbers(prediction, NumberAfter(reference, "段落"));
}

double LongBenchCount(std::string_view prediction, std::string_view reference) {
  return ShareOfNumbers(prediction, reference);
}

}  // namespace natsl::tasks::metrics
