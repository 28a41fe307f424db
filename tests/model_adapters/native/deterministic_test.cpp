// --deterministic: a request's result is the same to the bit, whatever other requests there are.
#include <gtest/gtest.h>

#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {
namespace {

std::vector<TokenScoreRequest> MixedRequests() {
  std::vector<TokenScoreRequest> requests;
  const std::vector<TokenId> shots = RandomIds(70, 3);
  for (uint64_t document = 0; document < 5; ++document) {
    std::vector<TokenId> context = shots;
    const auto own = RandomIds(9 + static_cast<int64_t>(document) * 17, 50 + document);
    context.insert(context.end(), own.begin(), own.end());
    for (uint64_t choice = 0; choice < 3; ++choice) {
      std::vector<TokenId> ids = context;
      const auto end = RandomIds(1 + 4 * static_cast<int64_t>(choice), 10 * document + choice);
      ids.insert(ids.end(), end.begin(), end.end());
      requests.push_back({ids, static_cast<int64_t>(context.size())});
    }
  }
  requests.push_back({RandomIds(300, 77), 1});
  return requests;
}

class Deterministic : public testing::TestWithParam<const char*> {};

TEST_P(Deterministic, ScoresAloneAndTogetherAreTheSameBits) {
  const std::vector<TokenScoreRequest> requests = MixedRequests();
  OpenOptions options;
  options.deterministic = true;
  options.batch_tokens = 128;
  const auto model = OpenTiny(Tiny(GetParam()), options);
  std::vector<TokenScore> together(requests.size());
  CountingListener listener;
  model->Score(requests, together, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<TokenScore> alone(1);
    model->Score(std::span(requests).subspan(i, 1), alone, listener);
    EXPECT_EQ(alone[0].log_probs, together[i].log_probs) << i;
    EXPECT_EQ(alone[0].is_greedy, together[i].is_greedy) << i;
  }
  options.share_prefixes = false;
  std::vector<TokenScore> separate(requests.size());
  OpenTiny(Tiny(GetParam()), options)->Score(requests, separate, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(separate[i].log_probs, together[i].log_probs) << i;
  }
  options.share_prefixes = true;
  options.deterministic = false;
  std::vector<TokenScore> packed(requests.size());
  OpenTiny(Tiny(GetParam()), options)->Score(requests, packed, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t t = 0; t < packed[i].log_probs.size(); ++t) {
      EXPECT_NEAR(packed[i].log_probs[t], together[i].log_probs[t], 1e-5) << i << " " << t;
    }
  }
}

TEST_P(Deterministic, GeneratesAloneWhatItGeneratesTogether) {
  std::vector<TokenGenerateRequest> requests;
  for (uint64_t i = 0; i < 4; ++i) {
    TokenGenerateRequest request;
    request.prompt = RandomIds(30 + static_cast<int64_t>(i) * 50, 3);
    request.max_new_tokens = 8;
    request.sampling.temperature = i % 2 == 0 ? 0 : 1;
    request.sampling.seed = i;
    requests.push_back(std::move(request));
  }
  OpenOptions options;
  options.deterministic = true;
  options.batch_tokens = 64;
  const auto model = OpenTiny(Tiny(GetParam()), options);
  std::vector<TokenGeneration> together(requests.size());
  CountingListener listener;
  model->Generate(requests, together, listener);
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<TokenGeneration> alone(1);
    model->Generate(std::span(requests).subspan(i, 1), alone, listener);
    EXPECT_EQ(alone[0].ids, together[i].ids) << i;
  }
}

std::vector<const char*> Names() {
  std::vector<const char*> names;
  for (const TinyModel& model : TinyModels()) names.push_back(model.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(TinyModels, Deterministic, testing::ValuesIn(Names()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace natsl::model_adapters::native
