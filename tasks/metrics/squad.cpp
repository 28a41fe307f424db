// SQuAD's scores.
#include "tasks/metrics/squad.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "tasks/metrics/python_text.h"
#include "tasks/metrics/token_f1.h"

namespace natsl::tasks::metrics {
namespace {

double F1OfV2(const std::vector<std::string>& prediction, const std::vector<std::string>& gold) {
  if (prediction.empty() || gold.empty()) return prediction.empty() && gold.empty() ? 1 : 0;
  return TokenF1(prediction, gold);
}

struct Scored {
  double exact = 0;
  double f1 = 0;
  bool answerable = false;
  bool says_something = false;
  float probability = 0;
};

/// Scores after the threshold: predictions with a larger no-answer probability count as "".
ExactF1 AfterThreshold(const Scored& item) {
  if (item.probability > 1.0F) {
    const double value = item.answerable ? 0 : 1;
    return {value, value};
  }
  return {item.exact, item.f1};
}

SquadV2Group GroupOf(std::span<const Scored> items, bool (*wanted)(const Scored&)) {
  SquadV2Group group;
  double exact = 0, f1 = 0;
  for (const Scored& item : items) {
    if (!wanted(item)) continue;
    const ExactF1 score = AfterThreshold(item);
    exact += score.exact;
    f1 += score.f1;
    ++group.total;
  }
  if (group.total > 0) {
    group.exact = 100.0 * exact / static_cast<double>(group.total);
    group.f1 = 100.0 * f1 / static_cast<double>(group.total);
  }
  return group;
}

}  // namespace

ExactF1 SquadV1(const std::string& prediction, std::span<const std::string> references) {
  if (references.empty()) throw DataError("squad: the answer list is empty");
  const std::string normal = NormalizeAnswer(prediction);
  const std::vector<std::string> words = SplitWords(normal);
  ExactF1 best;
  for (const std::string& reference : references) {
    const std::string gold = NormalizeAnswer(reference);
    best.exact = std::max(best.exact, normal == gold ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, TokenF1(words, SplitWords(gold)));
  }
  return best;
}

ExactF1 SquadV2(const std::string& prediction, std::span<const std::string> references) {
  std::vector<std::string> golds;
  for (const std::string& reference : references) {
    std::string gold = NormalizeAnswer(reference);
    if (!gold.empty()) golds.push_back(std::move(gold));
  }
  if (golds.empty()) golds.emplace_back();
  const std::string normal = NormalizeAnswer(prediction);
  const std::vector<std::string> words = SplitWords(normal);
  ExactF1 best;
  for (const std::string& gold : golds) {
    best.exact = std::max(best.exact, normal == gold ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, F1OfV2(words, SplitWords(gold)));
  }
  return best;
}

ExactF1 SquadV1Dataset(std::span<const std::optional<std::string>> predictions,
                       std::span<const std::vector<std::string>> references) {
  if (references.empty()) throw DataError("squad: no questions");
  ExactF1 sum;
  for (size_t i = 0; i < references.size(); ++i) {
    if (i >= predictions.size() || !predictions[i]) continue;
    const ExactF1 score = SquadV1(*predictions[i], references[i]);
    sum.exact += score.exact;
    sum.f1 += score.f1;
  }
  const double total = static_cast<double>(references.size());
  return {100.0 * sum.exact / total, 100.0 * sum.f1 / total};
}

BestScore BestOverThresholds(std::span<const ThresholdItem> items) {
  if (items.empty()) throw DataError("squad_v2: no questions");
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto probability = [&](size_t index) {
    return static_cast<float>(items[index].no_answer_probability);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return probability(a) < probability(b); });
  double current = 0;
  for (const ThresholdItem& item : items) current += item.answerable ? 0 : 1;
  double best = current, threshold = 0;
  for (const size_t index : order) {
    const ThresholdItem& item = items[index];
    if (item.answerable) {
      current += item.score;
    } else if (item.says_something) {
      current -= 1;
    }
    if (current > best) {
      best = current;
      threshold = static_cast<double>(probability(index));
    }
  }
  return {100.0 * best / static_cast<double>(items.size()), threshold};
}

SquadV2Summary SquadV2Dataset(std::span<const SquadV2Item> items) {
  if (items.empty()) throw DataError("squad_v2: no questions");
  std::vector<Scored> scored;
  scored.reserve(items.size());
  for (const SquadV2Item& item : items) {
    const ExactF1 score = SquadV2(item.prediction, item.references);
    scored.push_back({score.exact, score.f1, !item.references.empty(), !item.prediction.empty(),
                      static_cast<float>(item.no_answer_probability)});
  }
  SquadV2Summary summary;
  summary.all = GroupOf(scored, [](const Scored&) { return true; });
  const SquadV2Group has = GroupOf(scored, [](const Scored& item) { return item.answerable; });
  const SquadV2Group no = GroupOf(scored, [](const Scored& item) { return !item.answerable; });
  if (has.total > 0) summary.has_answer = has;
  if (no.total > 0) summary.no_answer = no;
  const auto best = [&](double Scored::*score) {
    std::vector<ThresholdItem> candidates;
    for (size_t i = 0; i < items.size(); ++i) {
      candidates.push_back({scored[i].*score, scored[i].answerable, scored[i].says_something,
                            items[i].no_answer_probability});
    }
    return BestOverThresholds(candidates);
  };
  const BestScore exact = best(&Scored::exact), f1 = best(&Scored::f1);
  summary.best_exact = exact.score;
  summary.best_exact_threshold = exact.threshold;
  summary.best_f1 = f1.score;
  summary.best_f1_threshold = f1.threshold;
  return summary;
}

}  // namespace natsl::tasks::metrics
