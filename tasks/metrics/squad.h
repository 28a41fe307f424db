// SQuAD's scores, versions 1.1 and 2.0, as the official scripts compute them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace natsl::tasks::metrics {

struct ExactF1 {
  double exact = 0;
  double f1 = 0;
};

/// Version 1.1, one question: maximum over the references (0 to 1). Two empty normal forms match
/// exactly and have f1 0. Throws Error (data) for no references.
ExactF1 SquadV1(const std::string& prediction, std::span<const std::string> references);

/// Version 2.0, one question: as above, but references whose normal form is empty are left out, ""
/// is the reference where none is left (an unanswerable question), and two empty sides have f1 1.
ExactF1 SquadV2(const std::string& prediction, std::span<const std::string> references);

/// Mean over questions of SquadV1, times 100; a missing prediction scores 0. Throws Error (data)
/// for no questions.
ExactF1 SquadV1Dataset(std::span<const std::optional<std::string>> predictions,
                       std::span<const std::vector<std::string>> references);

struct SquadV2Item {
  std::string prediction;
  std::vector<std::string> references;  ///< empty: unanswerable
  double no_answer_probability = 0;
};

struct SquadV2Group {
  double exact = 0;  ///< 0 to 100
  double f1 = 0;
  int64_t total = 0;
};

/// The official summary of a set, 0 to 100, with the no-answer threshold 1.0.
struct SquadV2Summary {
  SquadV2Group all;
  std::optional<SquadV2Group> has_answer;  ///< nothing: the set has no such question
  std::optional<SquadV2Group> no_answer;
  double best_exact = 0, best_exact_threshold = 0;
  double best_f1 = 0, best_f1_threshold = 0;
};

/// What the search for the best no-answer threshold needs of a question.
struct ThresholdItem {
  double score = 0;             ///< exact or f1 of the question, 0 to 1
  bool answerable = false;      ///< it has an answer
  bool says_something = false;  ///< the prediction isn't ""
  double no_answer_probability = 0;
};

/// Best sum of scores over all thresholds, times 100 / n, and the first threshold that reaches it:
/// questions in ascending order of probability (compared as float32) become answered one by one.
struct BestScore {
  double score = 0;
  double threshold = 0;
};
/// Throws Error (data) for no questions.
BestScore BestOverThresholds(std::span<const ThresholdItem> items);

/// Throws Error (data) for no questions.
SquadV2Summary SquadV2Dataset(std::span<const SquadV2Item> items);

}  // namespace natsl::tasks::metrics
