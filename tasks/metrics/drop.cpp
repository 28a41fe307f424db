// DROP's scores.
#include "tasks/metrics/drop.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/python_arithmetic.h"
#include "core/utf8.h"
#include "tasks/metrics/assignment.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

using Bag = std::set<std::string>;

std::string NormalizeToken(std::string_view token) {
  std::string text = Lower(token);
  if (!PythonFloat(text)) text = RemoveAsciiPunctuation(text);
  if (const auto number = PythonFloat(text)) text = PythonFloatText(*number);
  return CollapseWhitespace(ReplaceArticles(text));
}

Bag BagOf(const std::string& normalized) {
  const std::vector<std::string> words = SplitWords(normalized);
  return Bag(words.begin(), words.end());
}

int64_t Common(const Bag& left, const Bag& right) {
  return std::count_if(left.begin(), left.end(),
                       [&](const std::string& word) { return right.count(word) > 0; });
}

/// True unless the gold bag names numbers and the prediction has none of them.
bool NumbersMatch(const Bag& gold, const Bag& predicted) {
  bool any = false;
  for (const std::string& word : gold) {
    if (!PythonFloat(word)) continue;
    if (predicted.count(word) > 0) return true;
    any = true;
  }
  return !any;
}

double BagF1(const Bag& predicted, const Bag& gold) {
  const auto common = static_cast<double>(Common(gold, predicted));
  const double precision = predicted.empty() ? 1 : common / static_cast<double>(predicted.size());
  const double recall = gold.empty() ? 1 : common / static_cast<double>(gold.size());
  if (precision == 0 && recall == 0) return 0;
  return (2 * precision * recall) / (precision + recall);
}

double AlignedF1(const std::vector<Bag>& predicted, const std::vector<Bag>& gold) {
  const size_t rows = gold.size(), columns = predicted.size();
  if (rows == 0 && columns == 0) return std::nan("");
  std::vector<double> scores(rows * columns);
  for (size_t g = 0; g < rows; ++g) {
    for (size_t p = 0; p < columns; ++p) {
      if (NumbersMatch(gold[g], predicted[p])) {
        scores[g * columns + p] = BagF1(predicted[p], gold[g]);
      }
    }
  }
  std::vector<double> best(std::max(rows, columns));
  const std::vector<int64_t> column_of = MaximumAssignment(scores, rows, columns);
  for (size_t g = 0; g < rows; ++g) {
    if (column_of[g] < 0) continue;
    best[g] = std::max(best[g], scores[g * columns + static_cast<size_t>(column_of[g])]);
  }
  return core::statistics::NumpyMean(best).value();
}

}  // namespace

std::string DropNormalize(std::string_view span) {
  std::string out;
  const auto add = [&](std::string_view token) {
    const std::string normal = NormalizeToken(token);
    if (core::PythonStrip(normal).empty()) return;
    if (!out.empty()) out += ' ';
    out += normal;
  };
  size_t start = 0;
  for (size_t i = 0; i < span.size(); ++i) {
    if (span[i] != ' ' && span[i] != '-') continue;
    add(span.substr(start, i - start));
    start = i + 1;
  }
  add(span.substr(start));
  return std::string(core::PythonStrip(out));
}

namespace {

/// Normal forms of spans and their bags of words.
struct Spans {
  std::vector<std::string> normal;
  std::vector<Bag> bags;
};

Spans Normalized(std::span<const std::string> spans) {
  Spans out;
  for (const std::string& span : spans) {
    out.normal.push_back(DropNormalize(span));
    out.bags.push_back(BagOf(out.normal.back()));
  }
  return out;
}

DropScore Compare(const Spans& predicted, const Spans& gold) {
  const bool same = predicted.normal.size() == gold.normal.size() &&
                    std::set<std::string_view>(predicted.normal.begin(), predicted.normal.end()) ==
                        std::set<std::string_view>(gold.normal.begin(), gold.normal.end());
  const double f1 = AlignedF1(predicted.bags, gold.bags);
  return {same ? 1.0 : 0.0, std::isnan(f1) ? f1 : core::statistics::NumpyRound(f1, 2)};
}

}  // namespace

DropScore DropOfficial(std::span<const std::string> predicted, std::span<const std::string> gold) {
  return Compare(Normalized(predicted), Normalized(gold));
}

DropScore DropHarness(const std::string& prediction, std::span<const DropAnswer> golds) {
  const Spans predicted = Normalized(std::span(&prediction, 1));
  DropScore best;
  for (const DropAnswer& gold : golds) {
    if (gold.empty()) throw DataError("drop: an answer has no spans");
    if (core::PythonStrip(gold.front()).empty()) continue;
    const DropScore score = Compare(predicted, Normalized(gold));
    best.em = std::max(best.em, score.em);
    best.f1 = std::max(best.f1, score.f1);
  }
  return best;
}

DropAnswer SpansOfAnswer(const DropAnswerFields& answer) {
  if (!answer.number.empty()) return {answer.number};
  if (!answer.spans.empty()) return answer.spans;
  return {std::string(core::PythonStrip(answer.day + " " + answer.month + " " + answer.year))};
}

std::vector<DropAnswer> DistinctAnswers(std::span<const DropAnswerFields> candidates) {
  std::vector<DropAnswer> answers;
  for (const DropAnswerFields& candidate : candidates) {
    DropAnswer spans = SpansOfAnswer(candidate);
    if (std::find(answers.begin(), answers.end(), spans) == answers.end()) {
      answers.push_back(std::move(spans));
    }
  }
  return answers;
}

}  // namespace natsl::tasks::metrics
