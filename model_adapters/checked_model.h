// `checked:A,B`: a model that runs two models on the same requests, answers with A's results, and
// keeps how far B's are from them. Any task run can so be a comparison of two folders, two dtypes
// or two devices.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

/// Differences |a - b| of token log-probs, and decisions that differ.
struct Disagreement {
  /// Upper bounds of the histogram's bins; the last bin is open.
  static constexpr std::array<double, 7> kBins = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};

  int64_t tokens = 0;  ///< log-probs compared
  double largest = 0;  ///< largest difference; infinity where only one is finite
  double sum = 0;      ///< for the mean
  std::array<int64_t, kBins.size() + 1> histogram{};
  std::string largest_at;        ///< "loglikelihood request 12, token 3"
  int64_t requests = 0;          ///< requests compared
  int64_t greedy_flips = 0;      ///< is_greedy differs
  int64_t generations = 0;       ///< generations compared
  int64_t generation_flips = 0;  ///< of these, the ids differ
  std::string first_flip_at;     ///< "generate_until request 3, token 17"
  int64_t errors = 0;            ///< requests that only one of the two could answer

  double mean() const { return tokens == 0 ? 0 : sum / static_cast<double>(tokens); }
};

/// One line a fact, for the terminal and the report.
std::string Describe(const Disagreement& disagreement);

class CheckedModel final : public LanguageModel {
 public:
  /// Both must have the same vocabulary and tokenizer, as far as they tell; an Error (model) says
  /// where they differ.
  CheckedModel(std::unique_ptr<LanguageModel> answers, std::unique_ptr<LanguageModel> check);

  const ModelInfo& Info() const override { return info_; }
  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override;
  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override;
  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override;
  std::optional<int64_t> CountTokens(const std::string& text) const override;
  std::vector<std::string> Notes() const override;

  /// Over all requests so far.
  const Disagreement& disagreement() const { return disagreement_; }

 private:
  std::unique_ptr<LanguageModel> answers_, check_;
  ModelInfo info_;
  Disagreement disagreement_;
};

}  // namespace natsl::model_adapters
