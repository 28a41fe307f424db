// Accuracy over answer choices.
#include "tasks/metrics/multiple_choice.h"

#include <algorithm>
#include <cmath>

#include "core/cast.h"
#include "core/error.h"
#include "core/utf8.h"

namespace natsl::tasks::metrics {

int64_t ArgMax(std::span<const double> values) {
  int64_t best = 0;
  for (int64_t i = 0; i < core::Size(values); ++i) {
    const double value = values[static_cast<size_t>(i)];
    if (std::isnan(value)) return i;
    if (value > values[static_cast<size_t>(best)]) best = i;
  }
  return best;
}

ChoiceScores ScoreChoices(std::span<const double> log_probs, const std::vector<bool>& is_greedy,
                          std::span<const std::string> choices, std::span<const int64_t> golds,
                          std::span<const double> unconditional) {
  const size_t n = choices.size();
  if (n == 0 || log_probs.size() != n || is_greedy.size() < n ||
      (!unconditional.empty() && unconditional.size() != n)) {
    throw DataError("{} choices, but {} log-probabilities and {} greedy flags", n, log_probs.size(),
                    is_greedy.size());
  }
  const auto is_gold = [&](int64_t index) {
    return std::find(golds.begin(), golds.end(), index) != golds.end() ? 1.0 : 0.0;
  };
  std::vector<double> by_character(n), by_byte(n), gain(unconditional.size());
  for (size_t i = 0; i < n; ++i) {
    by_character[i] = log_probs[i] / static_cast<double>(core::CountCodePoints(choices[i]));
    by_byte[i] = log_probs[i] / static_cast<double>(choices[i].size());
    if (!gain.empty()) gain[i] = log_probs[i] - unconditional[i];
  }
  ChoiceScores scores;
  scores.acc = is_gold(ArgMax(log_probs));
  scores.acc_norm = is_gold(ArgMax(by_character));
  scores.acc_bytes = is_gold(ArgMax(by_byte));
  for (const int64_t gold : golds) {
    if (gold >= core::Size(choices)) continue;
    // A negative index counts from the end here, as in the reference's list, but never equals the
    // index of a choice above.
    const int64_t index = gold < 0 ? gold + core::Size(is_greedy) : gold;
    if (index < 0) throw DataError("gold choice {} is out of range", gold);
    if (is_greedy[static_cast<size_t>(index)]) scores.exact_match = 1;
  }
  if (!gain.empty()) scores.acc_mutual_info = is_gold(ArgMax(gain));
  return scores;
}

}  // namespace natsl::tasks::metrics
