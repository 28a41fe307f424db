// Two models side by side: what is counted, and which requests run.
#include "model_adapters/checked_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace natsl::model_adapters {
namespace {

using ::testing::HasSubstr;

/// Gives every token `log_prob`, every generation `ids`.
class FixedModel final : public LanguageModel {
 public:
  FixedModel(std::string name, float log_prob, bool greedy, std::vector<TokenId> ids)
      : log_prob_(log_prob), greedy_(greedy), ids_(std::move(ids)) {
    info_.name = std::move(name);
    info_.vocabulary = 10;
  }
  const ModelInfo& Info() const override { return info_; }
  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override {
    Each(requests.size(), listener, [&](size_t i) {
      results[i].token_log_probs.assign(requests[i].continuation.size(), log_prob_);
      results[i].is_greedy = greedy_;
      if (requests[i].context == "fail") results[i].error = "failed";
    });
  }
  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    Each(requests.size(), listener,
         [&](size_t i) { results[i].token_log_probs.assign(requests[i].text.size(), log_prob_); });
  }
  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    Each(requests.size(), listener, [&](size_t i) { results[i].ids = ids_; });
  }
  std::optional<int64_t> CountTokens(const std::string&) const override { return std::nullopt; }

 private:
  static void Each(size_t count, BatchListener& listener, const std::function<void(size_t)>& body) {
    for (size_t i = 0; i < count; ++i) {
      if (!listener.Wanted(i)) continue;
      body(i);
      listener.OnBatch(std::span(&i, 1), 1);
    }
  }
  ModelInfo info_;
  float log_prob_;
  bool greedy_;
  std::vector<TokenId> ids_;
};

TEST(CheckedModel, AnswersWithTheFirstAndCountsDifferences) {
  CheckedModel model(std::make_unique<FixedModel>("A", -1.f, true, std::vector<TokenId>{1, 2, 3}),
                     std::make_unique<FixedModel>("B", -1.25f, false, std::vector<TokenId>{1, 9}));
  const std::vector<LoglikelihoodRequest> requests = {{"x", "ab"}, {"x", "c"}, {"fail", "d"}};
  std::vector<LoglikelihoodResult> results(3);
  BatchListener all;
  model.Loglikelihood(requests, results, all);
  EXPECT_EQ(results[0].token_log_probs, std::vector<float>({-1.f, -1.f}));

  const std::vector<GenerateRequest> prompts(2);
  std::vector<GenerateResult> texts(2);
  model.GenerateUntil(prompts, texts, all);
  EXPECT_EQ(texts[1].ids, std::vector<TokenId>({1, 2, 3}));

  const Disagreement& d = model.disagreement();
  EXPECT_EQ(d.tokens, 3);
  EXPECT_EQ(d.largest, 0.25);
  EXPECT_EQ(d.mean(), 0.25);
  EXPECT_EQ(d.histogram[6], 3);  // between 0.1 and 1
  EXPECT_EQ(d.requests, 5);
  EXPECT_EQ(d.greedy_flips, 2);
  EXPECT_EQ(d.errors, 0);
  EXPECT_EQ(d.generation_flips, 2);
  EXPECT_EQ(d.first_flip_at, "generate_until request 0, token 1");
  EXPECT_THAT(Describe(d), HasSubstr("largest difference 0.25"));
}

TEST(CheckedModel, ANanIsInfinitelyFar) {
  CheckedModel model(std::make_unique<FixedModel>("A", NAN, true, std::vector<TokenId>{}),
                     std::make_unique<FixedModel>("B", -1.f, true, std::vector<TokenId>{}));
  const std::vector<RollingRequest> requests = {{"x", {}}};
  std::vector<RollingResult> results(1);
  BatchListener all;
  model.LoglikelihoodRolling(requests, results, all);
  EXPECT_TRUE(std::isinf(model.disagreement().largest));
}

/// Moves results away as soon as they are there, as a run's collector does.
class Mover final : public BatchListener {
 public:
  explicit Mover(std::vector<LoglikelihoodResult>& results) : results_(results) {}
  void OnBatch(std::span<const size_t> finished, int64_t) override {
    for (const size_t i : finished) taken.push_back(std::move(results_[i]));
  }
  std::vector<LoglikelihoodResult> taken;

 private:
  std::vector<LoglikelihoodResult>& results_;
};

TEST(CheckedModel, ComparesResultsThatAreMovedAway) {
  CheckedModel model(std::make_unique<FixedModel>("A", -1.f, true, std::vector<TokenId>{}),
                     std::make_unique<FixedModel>("B", -1.5f, true, std::vector<TokenId>{}));
  const std::vector<LoglikelihoodRequest> requests(2, {"x", "ab"});
  std::vector<LoglikelihoodResult> results(2);
  Mover mover(results);
  model.Loglikelihood(requests, results, mover);
  EXPECT_EQ(mover.taken.at(1).token_log_probs, std::vector<float>({-1.f, -1.f}));
  EXPECT_EQ(model.disagreement().tokens, 4);
  EXPECT_EQ(model.disagreement().largest, 0.5);
}

/// Wants only request 1.
class OnlyOne final : public BatchListener {
 public:
  bool Wanted(size_t index) override { return index == 1; }
};

TEST(CheckedModel, ComparesOnlyWhatWasWanted) {
  CheckedModel model(std::make_unique<FixedModel>("A", -1.f, true, std::vector<TokenId>{}),
                     std::make_unique<FixedModel>("B", -1.f, true, std::vector<TokenId>{}));
  const std::vector<LoglikelihoodRequest> requests(3, {"x", "a"});
  std::vector<LoglikelihoodResult> results(3);
  OnlyOne one;
  model.Loglikelihood(requests, results, one);
  EXPECT_EQ(model.disagreement().requests, 1);
}

}  // namespace
}  // namespace natsl::model_adapters
