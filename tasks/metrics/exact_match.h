// The reference harness's exact_match: numpy string arrays compared element by element.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {

struct ExactMatchOptions {
  std::vector<std::string> regexes_to_ignore;  ///< deleted first, in order
  bool ignore_case = false;         ///< lower-cased, cut to the longest string of its list
  bool ignore_punctuation = false;  ///< the 32 ASCII characters deleted
  bool ignore_numbers = false;      ///< ASCII digits deleted
};

/// Compiled once; const use is thread safe.
class ExactMatch {
 public:
  explicit ExactMatch(ExactMatchOptions options);

  /// Mean over pairs of "equal after the changes" (0 or 1; trailing NULs don't count); a list of
  /// one is compared with each of the other. NaN for two empty lists without any option. Throws
  /// Error (data) where the reference raises: lists that don't pair, an empty list with an option.
  double Mean(std::span<const std::string> predictions,
              std::span<const std::string> references) const;

  /// Several accepted answers: 1 if any equals the prediction, else 0. Throws Error (data) for no
  /// references.
  double AnyOf(const std::string& prediction, std::span<const std::string> references) const;

 private:
  std::vector<std::string> Prepare(std::span<const std::string> texts) const;

  ExactMatchOptions options_;
  std::unique_ptr<PatternRemover> remover_;
};

/// The settings of nq_open (case, punctuation, leading articles) and triviaqa (case, punctuation).
const ExactMatch& NqOpenExactMatch();
const ExactMatch& TriviaQaExactMatch();

}  // namespace natsl::tasks::metrics
