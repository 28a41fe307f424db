// Prefill = step by step = pieces = fork, for every family and option; state and long inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {
namespace {

constexpr double kFormTolerance = 1e-4;

// Fails at the first deviating layer and position.
void ExpectSame(const Trace& actual, const Trace& expected, const std::string& what) {
  ASSERT_EQ(actual.hidden_states.size(), expected.hidden_states.size());
  ASSERT_EQ(actual.logits.size(), expected.logits.size());
  for (size_t i = 0; i < expected.hidden_states.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / expected.hidden;
    ASSERT_NEAR(actual.hidden_states[i], expected.hidden_states[i], kFormTolerance)
        << what << ": hidden state of layer " << row / expected.tokens << ", position "
        << row % expected.tokens;
  }
  for (size_t i = 0; i < expected.logits.size(); ++i) {
    ASSERT_NEAR(actual.logits[i], expected.logits[i], kFormTolerance)
        << what << ": logit of position "
        << i / (expected.logits.size() / static_cast<size_t>(expected.tokens));
  }
}

class Forms : public testing::TestWithParam<TinyModel> {};

TEST_P(Forms, PrefillStepsAndPiecesAgree) {
  const auto model = OpenTiny(GetParam());
  const std::vector<TokenId> ids = RandomIds(200, 11);
  const Trace whole = model->Forward(ids, true, {});
  for (const float logit : whole.logits) ASSERT_TRUE(std::isfinite(logit));
  const std::vector<int64_t> steps(200, 1);
  ExpectSame(model->Forward(ids, true, steps), whole, "steps");
  const std::vector<std::vector<int64_t>> splits = {
      {63, 1, 1, 135}, {64, 64, 72}, {17, 50, 3, 94, 36}, {127, 2, 71}};
  for (const auto& pieces : splits) {
    ExpectSame(model->Forward(ids, true, pieces), whole, "pieces");
  }
}

TEST_P(Forms, ForkLeavesItsOriginAlone) {
  const auto model = OpenTiny(GetParam());
  const std::vector<TokenId> ids = RandomIds(100, 3);
  const auto expect_next = [&](Session& session, const std::vector<TokenId>& path) {
    const auto fresh = model->NewSession(1);
    fresh->Prefill(path);
    const std::vector<float> expected = fresh->NextLogProbs();
    const std::vector<float> actual = session.NextLogProbs();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], kFormTolerance);
  };
  const auto session = model->NewSession(1);
  session->Prefill(std::span(ids).first(60));
  const auto fork = session->Fork();
  std::vector<TokenId> fork_path(ids.begin(), ids.begin() + 60);
  for (TokenId id = 0; id < 30; ++id) {
    fork->Step(std::span(&id, 1));
    fork_path.push_back(id);
  }
  session->Prefill(std::span(ids).subspan(60));
  expect_next(*session, ids);
  expect_next(*fork, fork_path);
}

TEST_P(Forms, BatchesOfDifferentLengthsEqualOneAtATime) {
  const auto model = OpenTiny(GetParam());
  std::vector<TokenScoreRequest> requests;
  for (int64_t i = 0; i < 7; ++i) {
    requests.push_back({RandomIds(3 + 23 * i, static_cast<uint64_t>(i)), 1 + i});
  }
  std::vector<TokenScore> together(requests.size());
  CountingListener listener;
  model->Score(requests, together, listener);
  EXPECT_EQ(listener.finished_requests, 7);
  for (size_t i = 0; i < requests.size(); ++i) {
    TokenScore alone;
    model->Score(std::span(&requests[i], 1), std::span(&alone, 1), listener);
    ASSERT_EQ(alone.log_probs.size(), together[i].log_probs.size());
    for (size_t t = 0; t < alone.log_probs.size(); ++t) {
      ASSERT_NEAR(alone.log_probs[t], together[i].log_probs[t], kFormTolerance) << i << " " << t;
    }
    EXPECT_EQ(alone.is_greedy, together[i].is_greedy);
  }
}

TEST_P(Forms, BFloat16WeightsComputeLikeTheirFloat32Values) {
  // A model of rounded weights in float32 isn't at hand; the two storages of one draw must agree
  // to what rounding the weights does, and steps (gemv on bfloat16) with prefill (widened panels).
  OpenOptions options;
  options.dtype = "bfloat16";
  const auto model = OpenTiny(GetParam(), options);
  const std::vector<TokenId> ids = RandomIds(70, 5);
  const Trace whole = model->Forward(ids, true, {});
  const std::vector<int64_t> pieces(70, 1);
  ExpectSame(model->Forward(ids, true, pieces), whole, "bfloat16 steps");
}

TEST_P(Forms, StateDoesNotGrowWhereTheFamilyIsRecurrent) {
  const auto model = OpenTiny(GetParam());
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(70, 1));
  const StateBytes early = session->StateBytes();
  session->Prefill(RandomIds(400, 2));
  const StateBytes late = session->StateBytes();
  EXPECT_EQ(early.recurrent, late.recurrent);
  EXPECT_EQ(early.convolution, late.convolution);
  if (GetParam().recurrent) {
    EXPECT_EQ(late.kv, 0);
    EXPECT_GT(late.recurrent, 0);
  } else {
    EXPECT_GT(late.kv, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Forms, testing::ValuesIn(TinyModels()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Windows, DropPagesThatNobodySees) {
  const auto model = OpenTiny(Tiny("mistral_window"));
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(1000, 2));
  // 3 layers; the next token sees 69 keys of a window of 70: at most three pages of 64 a layer.
  const int64_t page_bytes = 64 * 16 * 2 * 4;
  EXPECT_LE(session->StateBytes().kv, 3 * 3 * page_bytes);
}

class LongInput : public testing::TestWithParam<const char*> {};

// The last log-probabilities of one long run don't depend on how it is cut, and its state is small.
TEST_P(LongInput, SixtyFourThousandTokens) {
  const std::vector<TokenId> ids = RandomIds(65536, 9);
  std::vector<std::vector<float>> log_probs;
  for (const int64_t batch_tokens : {4096, 1000}) {
    OpenOptions options;
    options.batch_tokens = batch_tokens;
    const auto model = OpenTiny(Tiny(GetParam()), options);
    const auto session = model->NewSession(1);
    session->Prefill(ids);
    log_probs.push_back(session->NextLogProbs());
    EXPECT_LT(session->StateBytes().total(), int64_t{1} << 20);
  }
  for (size_t i = 0; i < log_probs[0].size(); ++i) {
    ASSERT_TRUE(std::isfinite(log_probs[0][i]));
    ASSERT_NEAR(log_probs[0][i], log_probs[1][i], kFormTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(LinearFamilies, LongInput,
                         testing::Values("gated_deltanet", "delta_net", "gla", "retnet", "hgrn",
                                         "hgrn2", "mamba2", "rwkv6"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::model_adapters::native
