// Every family and option: CPU = GPU, prefill = steps = pieces = fork = batch, same bytes twice.
#include <cmath>

#include "tests/model_adapters/native/cuda/cuda_tests.h"

namespace natsl::model_adapters::native::cuda {
namespace {

constexpr double kFormTolerance = 2e-4;

class CudaForms : public testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override { NATSL_NEEDS_GPU(); }
};

TEST_P(CudaForms, EqualsTheCpuInEveryForm) {
  const auto cpu = OpenTiny(GetParam());
  const auto model = OpenTinyOnDevice(GetParam());
  const std::vector<TokenId> ids = RandomIds(200, 11);
  const Trace expected = cpu->Forward(ids, true, {});
  const std::vector<std::vector<int64_t>> splits = {
      {200}, std::vector<int64_t>(200, 1), {63, 1, 1, 135}, {64, 64, 72}, {17, 50, 3, 94, 36}};
  for (const auto& pieces : splits) {
    const Trace trace = model->Forward(ids, true, pieces);
    ASSERT_EQ(trace.hidden_states.size(), expected.hidden_states.size());
    EXPECT_LE(Compare(trace.hidden_states, expected.hidden_states).largest, kFormTolerance)
        << pieces.size() << " pieces";
    EXPECT_LE(Compare(trace.logits, expected.logits).largest, kFormTolerance)
        << pieces.size() << " pieces";
  }
}

TEST_P(CudaForms, SameInputSameBytes) {
  const auto model = OpenTinyOnDevice(GetParam(), OnDevice("bfloat16"));
  const std::vector<TokenId> ids = RandomIds(300, 4);
  const Trace a = model->Forward(ids, true, {});
  const Trace b = model->Forward(ids, true, {});
  EXPECT_EQ(a.logits, b.logits);
  EXPECT_EQ(a.hidden_states, b.hidden_states);
}

TEST_P(CudaForms, BFloat16StepsEqualThePass) {
  const auto model = OpenTinyOnDevice(GetParam(), OnDevice("bfloat16"));
  const std::vector<TokenId> ids = RandomIds(150, 5);
  const Trace whole = model->Forward(ids, false, {});
  std::vector<int64_t> pieces = {70};
  pieces.resize(81, 1);
  const Trace steps = model->Forward(ids, false, pieces);
  const Differences differences = Compare(steps.logits, whole.logits);
  EXPECT_LE(differences.mean, 0.03);
  EXPECT_LE(differences.largest, 1.0);
}

TEST_P(CudaForms, ForkLeavesItsOriginAlone) {
  const auto model = OpenTinyOnDevice(GetParam());
  const std::vector<TokenId> ids = RandomIds(100, 3);
  const auto expect_next = [&](Session& session, const std::vector<TokenId>& path) {
    const auto fresh = model->NewSession(1);
    fresh->Prefill(path);
    EXPECT_LE(Compare(session.NextLogProbs(), fresh->NextLogProbs()).largest, kFormTolerance);
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

TEST_P(CudaForms, ScoresEqualTheCpus) {
  const auto cpu = OpenTiny(GetParam());
  OpenOptions options = OnDevice();
  options.batch_tokens = 512;
  const auto model = OpenTinyOnDevice(GetParam(), options);
  // Shared prefixes with different ends, and strangers of other lengths.
  std::vector<TokenScoreRequest> requests;
  for (int64_t i = 0; i < 24; ++i) {
    std::vector<TokenId> ids = RandomIds(30 + 20 * (i / 6), static_cast<uint64_t>(i / 6));
    const auto from = static_cast<int64_t>(ids.size());
    const std::vector<TokenId> end = RandomIds(1 + i * 3, static_cast<uint64_t>(100 + i));
    ids.insert(ids.end(), end.begin(), end.end());
    requests.push_back({ids, from});
  }
  std::vector<TokenScore> expected(requests.size()), scores(requests.size());
  CountingListener listener;
  cpu->Score(requests, expected, listener);
  model->Score(requests, scores, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(scores[i].log_probs.size(), expected[i].log_probs.size());
    EXPECT_LE(Compare(scores[i].log_probs, expected[i].log_probs).largest, kFormTolerance) << i;
    EXPECT_EQ(scores[i].is_greedy, expected[i].is_greedy) << i;
  }
  std::vector<TokenScore> again(requests.size());
  model->Score(requests, again, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(again[i].log_probs, scores[i].log_probs) << i;
  }
}

TEST_P(CudaForms, AFreshModelScoresASingleSequence) {
  const TokenScoreRequest request = {RandomIds(20, 1), 1};
  TokenScore expected, score;
  CountingListener listener;
  OpenTiny(GetParam())->Score(std::span(&request, 1), std::span(&expected, 1), listener);
  OpenTinyOnDevice(GetParam())->Score(std::span(&request, 1), std::span(&score, 1), listener);
  EXPECT_LE(Compare(score.log_probs, expected.log_probs).largest, kFormTolerance);
}

TEST_P(CudaForms, GeneratesWhatTheCpuGenerates) {
  const auto cpu = OpenTiny(GetParam());
  const auto model = OpenTinyOnDevice(GetParam());
  std::vector<TokenGenerateRequest> requests(5);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt = RandomIds(40 + static_cast<int64_t>(i) * 13, i % 2);
    requests[i].max_new_tokens = 10 + static_cast<int64_t>(i) * 20;
    if (i == 3) requests[i].sampling.temperature = 0.7;
    requests[i].sampling.seed = i;
  }
  std::vector<TokenGeneration> expected(requests.size()), generated(requests.size());
  CountingListener listener;
  cpu->Generate(requests, expected, listener);
  model->Generate(requests, generated, listener);
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(generated[i].ids, expected[i].ids) << i;
}

TEST_P(CudaForms, DecodingByGraphEqualsStepByStep) {
  const auto model = OpenTinyOnDevice(GetParam());
  const auto session = model->NewSession(2);
  std::vector<TokenId> ids = RandomIds(2 * 50, 8);
  session->Prefill(ids);
  const auto fork = session->Fork();
  const std::vector<TokenId> decoded = session->Decode(100);
  ASSERT_EQ(decoded.size(), 200u);
  EXPECT_EQ(session->length(), 150);
  std::vector<TokenId> stepped;
  for (int step = 0; step < 100; ++step) {
    const std::vector<TokenId> next = fork->Decode(1);
    stepped.insert(stepped.end(), next.begin(), next.end());
  }
  EXPECT_EQ(stepped, decoded);
  EXPECT_LE(Compare(session->NextLogProbs(), fork->NextLogProbs()).largest, 0);
  const StateBytes bytes = session->StateBytes();
  EXPECT_EQ(bytes.kv > 0, !GetParam().recurrent);
}

INSTANTIATE_TEST_SUITE_P(All, CudaForms, testing::ValuesIn(TinyModels()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace natsl::model_adapters::native::cuda
