// Accuracy over answer choices, by log-probability and by log-probability a character or byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace natsl::tasks::metrics {

struct ChoiceScores {
  double acc = 0;                         ///< argmax of the log-probabilities is gold
  double acc_norm = 0;                    ///< ... divided by the choice's code points
  double acc_bytes = 0;                   ///< ... divided by the choice's UTF-8 bytes
  double exact_match = 0;                 ///< the gold choice is the model's greedy continuation
  std::optional<double> acc_mutual_info;  ///< with unconditional log-probabilities
};

/// numpy's argmax: the first maximum; the first NaN wins over any number.
int64_t ArgMax(std::span<const double> values);

/// `log_probs[i]` belongs to `choices[i]` (without the delimiter in front of it). `golds`: accepted
/// indices; one past the choices never matches. An empty choice divides by 0 as IEEE does.
/// `unconditional`: empty, or log-probabilities of the choices without context. Throws Error (data)
/// where the lists' lengths differ or are 0.
ChoiceScores ScoreChoices(std::span<const double> log_probs, const std::vector<bool>& is_greedy,
                          std::span<const std::string> choices, std::span<const int64_t> golds,
                          std::span<const double> unconditional = {});

}  // namespace natsl::tasks::metrics
