// Text requests over a token model: results, policies, and the listener's view.
#include "model_adapters/tokenized_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fake_models.h"
#include "model_adapters/request_error.h"

namespace natsl::model_adapters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<LanguageModel> Model(int64_t max_length, TextOptions options = {}) {
  return MakeTokenizedModel(std::make_unique<EchoModel>(max_length),
                            std::make_shared<ByteTokenizer>(true), options);
}

/// Records what it is told; wants all but `known`.
class Recorder final : public BatchListener {
 public:
  bool Wanted(size_t index) override { return !known.contains(index); }
  void OnBatch(std::span<const size_t> finished, int64_t) override {
    for (const size_t i : finished) EXPECT_TRUE(done.insert(i).second) << i << " finished twice";
  }
  std::set<size_t> known, done;
};

TEST(TokenizedModel, SumsTheContinuationsLogProbs) {
  const auto model = Model(100);
  const std::vector<LoglikelihoodRequest> requests = {{"c", "\x02\x04"}, {"cc", "\x03"}};
  std::vector<LoglikelihoodResult> results(2);
  Recorder recorder;
  model->Loglikelihood(requests, results, recorder);
  // Ids: 256 'c' 2 4 -> positions 2 and 3.
  EXPECT_EQ(results[0].log_prob, -(2.0 + 2) - (4.0 + 3));
  EXPECT_TRUE(results[0].is_greedy);
  EXPECT_THAT(results[0].token_log_probs, ElementsAre(-4.f, -7.f));
  EXPECT_EQ(results[0].context_tokens, 2);
  EXPECT_EQ(results[0].output_tokens, 2);
  EXPECT_EQ(results[1].log_prob, -(3.0 + 3));
  EXPECT_FALSE(results[1].is_greedy);
  EXPECT_THAT(recorder.done, ElementsAre(0, 1));
}

TEST(TokenizedModel, KnownRequestsStayUntouched) {
  const auto model = Model(100);
  const std::vector<LoglikelihoodRequest> requests(2, {"c", "d"});
  std::vector<LoglikelihoodResult> results(2);
  results[0].log_prob = results[1].log_prob = 7;
  Recorder recorder;
  recorder.known = {0, 1};
  model->Loglikelihood(requests, results, recorder);
  EXPECT_EQ(results[0].log_prob, 7);
  EXPECT_TRUE(recorder.done.empty());
}

TEST(TokenizedModel, TruncationPolicies) {
  const std::vector<LoglikelihoodRequest> requests = {{"0123456789", "x"}, {"0", "x"}};
  std::vector<LoglikelihoodResult> results(2);
  Recorder recorder;
  Model(4)->Loglikelihood(requests, results, recorder);
  EXPECT_EQ(results[0].truncated_tokens, 7);
  EXPECT_EQ(results[0].context_tokens, 4);

  TextOptions skip;
  skip.truncation = TruncationPolicy::kSkip;
  results.assign(2, {});
  Recorder skipped;
  Model(4, skip)->Loglikelihood(requests, results, skipped);
  EXPECT_TRUE(results[0].skipped);
  EXPECT_FALSE(results[1].skipped);
  EXPECT_THAT(skipped.done, ElementsAre(0, 1));

  TextOptions error;
  error.truncation = TruncationPolicy::kError;
  EXPECT_THROW(Model(4, error)->Loglikelihood(requests, results, recorder), Error);
}

// Longer than the model even without its context: nothing can be cut, but it can be skipped.
TEST(TokenizedModel, AContinuationThatIsTooLongFollowsThePolicyToo) {
  const std::vector<LoglikelihoodRequest> requests = {{"0", "123456"}, {"0", "x"}};
  std::vector<LoglikelihoodResult> results(2);
  Recorder recorder;
  Model(4)->Loglikelihood(requests, results, recorder);
  EXPECT_THAT(results[0].error.value_or(""), HasSubstr("6 tokens, expected at most the model's 4"));
  EXPECT_FALSE(results[0].skipped);
  TextOptions options;
  options.truncation = TruncationPolicy::kSkip;
  results.assign(2, {});
  Recorder skipped;
  Model(4, options)->Loglikelihood(requests, results, skipped);
  EXPECT_TRUE(results[0].skipped);
  EXPECT_FALSE(results[0].error.has_value());
  EXPECT_EQ(results[0].truncated_tokens, 2);
  EXPECT_FALSE(results[1].skipped);
  options.truncation = TruncationPolicy::kError;
  EXPECT_THROW(Model(4, options)->Loglikelihood(requests, results, recorder), RequestError);
}

TEST(TokenizedModel, AnErrorThatEndsTheCallTellsItsRequest) {
  const std::vector<LoglikelihoodRequest> requests = {{"0", "x"}, {"0", "x"}, {"0123456789", "x"}};
  std::vector<LoglikelihoodResult> results(3);
  TextOptions options;
  options.truncation = TruncationPolicy::kError;
  Recorder recorder;
  try {
    Model(4, options)->Loglikelihood(requests, results, recorder);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.request(), 2u);
    EXPECT_THAT(error.what(), HasSubstr("7 tokens longer than the model's 4"));
  }
}

TEST(TokenizedModel, WholeWindowsAreScoredBeyondTheModelsLength) {
  std::vector<RollingRequest> requests(2);
  requests[0].text = "0123456789";
  requests[0].max_length = 4;
  requests[0].whole_windows = 5;
  requests[1] = requests[0];
  requests[1].text = "012";
  std::vector<RollingResult> results(2);
  Recorder recorder;
  Model(3)->LoglikelihoodRolling(requests, results, recorder);
  // Two windows: BOS and four ids each; what is left over isn't scored.
  EXPECT_EQ(results[0].output_tokens, 8);
  EXPECT_EQ(results[0].token_log_probs.size(), 8u);
  EXPECT_EQ(results[0].token_log_probs[4], -static_cast<float>('4' + 1));
  EXPECT_EQ(results[0].scored_bytes, 8);
  EXPECT_TRUE(results[1].skipped);  // too short for one
  EXPECT_THAT(recorder.done, ElementsAre(0, 1));
}

TEST(TokenizedModel, AnImpossibleRequestIsAnErrorRowNotAZero) {
  const std::vector<LoglikelihoodRequest> requests = {{"c", "123456"}};
  std::vector<LoglikelihoodResult> results(1);
  Recorder recorder;
  Model(4)->Loglikelihood(requests, results, recorder);
  ASSERT_TRUE(results[0].error.has_value());
  EXPECT_THAT(*results[0].error, HasSubstr("6 tokens"));
  EXPECT_THAT(recorder.done, ElementsAre(0));
}

TEST(TokenizedModel, ManyRequestsAreEncodedAheadAndEachAnsweredOnce) {
  std::vector<LoglikelihoodRequest> requests(2 * kRequestsAtOnce + 100, {"c", "x"});
  requests[kRequestsAtOnce + 3].continuation = "y";
  requests.back().continuation = "";
  std::vector<LoglikelihoodResult> results(requests.size());
  Recorder recorder;
  Model(100)->Loglikelihood(requests, results, recorder);
  EXPECT_EQ(recorder.done.size(), requests.size());
  EXPECT_EQ(results[kRequestsAtOnce + 2].log_prob, -('x' + 2));
  EXPECT_EQ(results[kRequestsAtOnce + 3].log_prob, -('y' + 2));
  EXPECT_TRUE(results.back().error.has_value());
  // The same error where it ends the call, found while others are computed.
  TextOptions options;
  options.truncation = TruncationPolicy::kError;
  try {
    Recorder stopped;
    Model(100, options)->Loglikelihood(requests, results, stopped);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.request(), requests.size() - 1);
  }
}

TEST(TokenizedModel, RollingScoresEveryIdOnce) {
  const std::vector<RollingRequest> requests = {{"abcdef", {}}, {"", {}}};
  std::vector<RollingResult> results(2);
  Recorder recorder;
  Model(3)->LoglikelihoodRolling(requests, results, recorder);
  // ids: 256 300 c d e f in windows of three scored ids.
  EXPECT_EQ(results[0].output_tokens, 6);
  EXPECT_EQ(results[0].token_log_probs.size(), 6u);
  EXPECT_EQ(results[1].output_tokens, 1);  // BOS itself is scored
  EXPECT_THAT(recorder.done, ElementsAre(0, 1));
}

TEST(TokenizedModel, WholeWindowsScoreByPositionFromAZeroState) {
  const auto model = Model(2);  // windows may be longer than the model's own limit
  std::vector<RollingRequest> requests(3);
  requests[0].text = "cdefghi";
  requests[1].text = "cd";
  requests[2].text = "c";
  requests[2].packed = {"d", "e"};
  for (RollingRequest& request : requests) {
    request.max_length = 3;
    request.whole_windows = 5;
  }
  std::vector<RollingResult> results(3);
  Recorder recorder;
  model->LoglikelihoodRolling(requests, results, recorder);
  // BOS c d e, BOS f g h; i is left over.
  EXPECT_THAT(results[0].token_log_probs,
              ElementsAre(-100.f, -102.f, -104.f, -103.f, -105.f, -107.f));
  EXPECT_EQ(results[0].log_prob, -621);
  EXPECT_EQ(results[0].output_tokens, 6);
  EXPECT_EQ(results[0].scored_bytes, 6);
  EXPECT_TRUE(results[1].skipped);  // too short for one
  EXPECT_EQ(results[1].output_tokens, 0);
  // Packed: c EOS d EOS e EOS -> c EOS d EOS.
  EXPECT_THAT(results[2].token_log_probs, ElementsAre(-258.f, -102.f, -260.f));
  EXPECT_FALSE(results[2].skipped);
  EXPECT_THAT(recorder.done, ElementsAre(0, 1, 2));
}

/// As sentencepiece: control pieces decode to nothing.
class SilentEosTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> Encode(std::string_view text, bool add_special_tokens) const override {
    return bytes_.Encode(text, add_special_tokens);
  }
  std::string Decode(std::span<const TokenId> ids, bool) const override {
    return bytes_.Decode(ids, true);
  }
  const SpecialTokens& special_tokens() const override { return bytes_.special_tokens(); }
  int64_t vocabulary_size() const override { return bytes_.vocabulary_size(); }
  const std::string& fingerprint() const override { return bytes_.fingerprint(); }
  std::optional<int64_t> model_max_length() const override { return std::nullopt; }

 private:
  ByteTokenizer bytes_{false};
};

TEST(TokenizedModel, AnEndTokenWithoutTextDoesNotStopEveryText) {
  const std::vector<GenerateRequest> requests = {{"xyz", {}, 5, {}, {}}, {"xy</s>", {}, 5, {}, {}}};
  std::vector<GenerateResult> results(2);
  Recorder recorder;
  MakeTokenizedModel(std::make_unique<EchoModel>(100), std::make_shared<SilentEosTokenizer>(), {})
      ->GenerateUntil(requests, results, recorder);
  EXPECT_EQ(results[0].text, "xyzxy");
  EXPECT_EQ(results[0].finish, FinishReason::kLength);
  EXPECT_EQ(results[1].text, "xy");
  EXPECT_EQ(results[1].finish, FinishReason::kEos);
}

TEST(TokenizedModel, GenerationStopsAtStringsEosAndLength) {
  std::vector<GenerateRequest> requests(4);
  requests[0] = {"xyz", {"zx"}, 50, {}, {}};
  requests[1] = {"xy</s>", {}, 50, {}, {}};
  requests[2] = {"xyz", {}, 5, {}, {}};
  requests[3] = {"xyz", {""}, 5, {}, {}};
  std::vector<GenerateResult> results(4);
  Recorder recorder;
  TextOptions options;
  options.bos = BosPolicy::kNever;
  Model(100, options)->GenerateUntil(requests, results, recorder);
  // The echo starts at the prompt's first id: x y z x ...
  EXPECT_EQ(results[0].text, "xy");
  EXPECT_EQ(results[0].finish, FinishReason::kStop);
  EXPECT_EQ(results[1].text, "xy");
  EXPECT_EQ(results[1].finish, FinishReason::kEos);
  EXPECT_EQ(results[2].text, "xyzxy");
  EXPECT_EQ(results[2].finish, FinishReason::kLength);
  EXPECT_EQ(results[2].output_tokens, 5);
  EXPECT_EQ(results[3].text, "x");  // as the reference does with an empty stop string
}

}  // namespace
}  // namespace natsl::model_adapters
