// Scoring and generation of many requests: prefix sharing, resumption, order, sampling, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "tests/model_adapters/native/nats_counts.h"

namespace natsl::model_adapters::native {
namespace {

std::vector<TokenScore> ScoreWith(const TinyModel& tiny, const OpenOptions& options,
                                  const std::vector<TokenScoreRequest>& requests,
                                  int64_t* tokens = nullptr) {
  std::vector<TokenScore> results(requests.size());
  CountingListener listener;
  OpenTiny(tiny, options)->Score(requests, results, listener);
  EXPECT_EQ(listener.finished_requests, static_cast<int64_t>(requests.size()));
  if (tokens != nullptr) *tokens = listener.computed_tokens;
  return results;
}

class Engine : public testing::TestWithParam<const char*> {};

TEST_P(Engine, PrefixSharingChangesNothingButTheWork) {
  const std::vector<TokenScoreRequest> requests = ChoiceRequests();
  OpenOptions options;
  options.batch_tokens = 256;
  int64_t shared_tokens = 0, all_tokens = 0;
  const auto shared = ScoreWith(Tiny(GetParam()), options, requests, &shared_tokens);
  options.share_prefixes = false;
  const auto separate = ScoreWith(Tiny(GetParam()), options, requests, &all_tokens);
  EXPECT_LT(shared_tokens * 2, all_tokens);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(shared[i].log_probs.size(), separate[i].log_probs.size());
    for (size_t t = 0; t < shared[i].log_probs.size(); ++t) {
      EXPECT_NEAR(shared[i].log_probs[t], separate[i].log_probs[t], 1e-5) << i << " " << t;
    }
    EXPECT_EQ(shared[i].is_greedy, separate[i].is_greedy) << i;
  }
}

TEST_P(Engine, ResultsEqualTheWholePassAndDoNotDependOnTheOrder) {
  std::vector<TokenScoreRequest> requests = ChoiceRequests();
  OpenOptions options;
  options.batch_tokens = 300;
  const auto results = ScoreWith(Tiny(GetParam()), options, requests);
  const auto model = OpenTiny(Tiny(GetParam()), options);
  for (size_t i = 0; i < requests.size(); i += 6) {
    const TokenScoreRequest& request = requests[i];
    const Trace trace = model->Forward(request.ids, false, {});
    const size_t width = 96;
    bool greedy = true;
    for (size_t p = static_cast<size_t>(request.scored_from); p < request.ids.size(); ++p) {
      const float* row = trace.logits.data() + (p - 1) * width;
      double sum = 0;
      for (size_t v = 0; v < width; ++v) sum += std::exp(static_cast<double>(row[v]));
      const auto id = static_cast<size_t>(request.ids[p]);
      EXPECT_NEAR(results[i].log_probs[p - static_cast<size_t>(request.scored_from)],
                  static_cast<double>(row[id]) - std::log(sum), 1e-4);
      greedy = greedy && std::max_element(row, row + width) - row == request.ids[p];
    }
    EXPECT_EQ(results[i].is_greedy, greedy);
  }
  std::reverse(requests.begin(), requests.end());
  auto reversed = ScoreWith(Tiny(GetParam()), options, requests);
  std::reverse(reversed.begin(), reversed.end());
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].log_probs, reversed[i].log_probs) << "not the same bytes: " << i;
  }
}

TEST_P(Engine, AResumedRunGivesTheSameBytes) {
  class Half : public CountingListener {
   public:
    bool Wanted(size_t index) override { return index % 7 == 2; }
  };
  const std::vector<TokenScoreRequest> requests = ChoiceRequests();
  OpenOptions options;
  options.batch_tokens = 256;
  const auto all = ScoreWith(Tiny(GetParam()), options, requests);
  std::vector<TokenScore> some(requests.size());
  Half listener;
  OpenTiny(Tiny(GetParam()), options)->Score(requests, some, listener);
  for (size_t i = 2; i < requests.size(); i += 7) {
    EXPECT_EQ(some[i].log_probs, all[i].log_probs) << i;
    EXPECT_EQ(some[i].is_greedy, all[i].is_greedy);
  }
  EXPECT_TRUE(some.back().log_probs.empty()) << "an unwanted unit was computed";
}

TEST_P(Engine, GenerationInABatchEqualsOneAtATime) {
  const auto model = OpenTiny(Tiny(GetParam()));
  const std::vector<TokenId> shots = RandomIds(40, 1);
  std::vector<TokenGenerateRequest> requests;
  for (uint64_t i = 0; i < 9; ++i) {
    TokenGenerateRequest request;
    request.prompt = shots;
    const auto own = RandomIds(1 + static_cast<int64_t>(i) * 9, 50 + i);
    request.prompt.insert(request.prompt.end(), own.begin(), own.end());
    request.max_new_tokens = 5 + static_cast<int64_t>(i) * 3;
    request.eos = {static_cast<TokenId>(i), 95};
    request.sampling.seed = i;
    if (i % 3 == 1) request.sampling.temperature = 0.8;
    if (i % 3 == 2) {
      request.sampling.temperature = 1.2;
      request.sampling.top_k = 20;
      request.sampling.top_p = 0.9;
    }
    if (i == 4) request.eos.clear();
    if (i == 4) request.stop = [](std::span<const TokenId> ids) { return ids.size() == 4; };
    requests.push_back(request);
  }
  std::vector<TokenGeneration> together(requests.size());
  CountingListener listener;
  model->Generate(requests, together, listener);
  EXPECT_EQ(listener.finished_requests, 9);
  EXPECT_EQ(together[4].ids.size(), 4u);
  EXPECT_EQ(together[4].finish, FinishReason::kStop);
  for (size_t i = 0; i < requests.size(); ++i) {
    TokenGeneration alone;
    model->Generate(std::span(&requests[i], 1), std::span(&alone, 1), listener);
    EXPECT_EQ(alone.ids, together[i].ids) << i;
    EXPECT_EQ(alone.finish, together[i].finish) << i;
    EXPECT_LE(together[i].ids.size(), static_cast<size_t>(requests[i].max_new_tokens));
  }
}

TEST_P(Engine, SessionsDecodeWhatGenerationGives) {
  const auto model = OpenTiny(Tiny(GetParam()));
  const std::vector<TokenId> prompt = RandomIds(70, 8);
  TokenGenerateRequest request;
  request.prompt = prompt;
  request.max_new_tokens = 12;
  TokenGeneration generated;
  CountingListener listener;
  model->Generate(std::span(&request, 1), std::span(&generated, 1), listener);
  const auto session = model->NewSession(2);
  std::vector<TokenId> twice = prompt;
  twice.insert(twice.end(), prompt.begin(), prompt.end());
  session->Prefill(twice);
  const std::vector<TokenId> ids = session->Decode(12);
  ASSERT_EQ(ids.size(), 24u);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(ids[2 * i], generated.ids[i]);
    EXPECT_EQ(ids[2 * i + 1], generated.ids[i]);
  }
  EXPECT_EQ(session->length(), 82);
  EXPECT_EQ(session->longest_pass(), 140);
  OpenOptions short_passes;
  short_passes.batch_tokens = 50;
  const auto cut = OpenTiny(Tiny(GetParam()), short_passes)->NewSession(2);
  cut->Prefill(twice);
  EXPECT_EQ(cut->longest_pass(), 50);
}

INSTANTIATE_TEST_SUITE_P(Some, Engine,
                         testing::Values("transformer", "mistral_window", "gated_deltanet_hybrid",
                                         "natsl", "rwkv6", "mamba2"),
                         [](const auto& info) { return std::string(info.param); });

// Forces and records NAtS-L's choices.
class Forced : public ChunkChoices {
 public:
  void OnChunk(int64_t layer, int64_t, int64_t chunk, std::vector<uint8_t>& softmax) override {
    for (size_t head = 0; head < softmax.size(); ++head) {
      softmax[head] = (static_cast<size_t>(layer + chunk) + head) % 2 == 0 ? 1 : 0;
    }
    seen.insert({layer, chunk});
  }
  std::set<std::pair<int64_t, int64_t>> seen;
};

TEST(NatsChoices, AreCountedAndCanBeForced) {
  const auto model = OpenTiny(Tiny("natsl"));
  const std::vector<TokenId> ids = RandomIds(300, 21);
  const Trace free = model->Forward(ids, false, {});
  const auto shares = model->SoftmaxShares();
  ASSERT_EQ(shares.size(), 3u * 2u);
  for (const SoftmaxShare& share : shares) EXPECT_EQ(share.chunks, 4);

  Forced forced;
  model->SetChunkChoices(&forced);
  const Trace whole = model->Forward(ids, false, {});
  EXPECT_EQ(forced.seen.size(), 3u * 4u);
  const std::vector<int64_t> pieces = {10, 54, 1, 100, 135};
  const Trace split = model->Forward(ids, false, pieces);
  double moved = 0;
  for (size_t i = 0; i < whole.logits.size(); ++i) {
    ASSERT_NEAR(whole.logits[i], split.logits[i], 1e-4);
    if (i < 64 * 96) {
      ASSERT_NEAR(whole.logits[i], free.logits[i], 1e-5) << "a chunk's choice changed itself";
    }
    moved = std::max(moved, std::abs(static_cast<double>(whole.logits[i]) - free.logits[i]));
  }
  EXPECT_GT(moved, 0.01);
}

class NatsCounts : public testing::TestWithParam<const char*> {};

TEST_P(NatsCounts, ARequestsScoresTellWhatItsWholeSequenceChose) {
  ExpectScoresTellTheirChoices(Tiny(GetParam()), {});
}

TEST_P(NatsCounts, AGenerationTellsWhatItsPromptAndTheIdsReadAgainChose) {
  ExpectGenerationsTellTheirChoices(Tiny(GetParam()), {});
}

INSTANTIATE_TEST_SUITE_P(Natsl, NatsCounts, kCountedModels,
                         [](const auto& info) { return std::string(info.param); });

TEST(NatsChoices, OnlyModelsWithSuchLayersTell) {
  const auto hybrid = OpenTiny(Tiny("natsl_hybrid_rope_no_decay_raw"));
  ASSERT_EQ(hybrid->Info().nats_layers.size(), 2u);
  EXPECT_EQ(hybrid->Info().nats_layers[0].layer, 0);
  EXPECT_EQ(hybrid->Info().nats_layers[1].layer, 2);
  EXPECT_EQ(hybrid->Info().nats_layers[0].heads, 2);
  EXPECT_TRUE(OpenTiny(Tiny("gated_deltanet_hybrid"))->Info().nats_layers.empty());
  const std::vector<TokenScoreRequest> requests = {{RandomIds(200, 1), 1}};
  EXPECT_TRUE(ScoreWith(Tiny("gated_deltanet_hybrid"), {}, requests)[0].softmax.by_head.empty());
}

TEST(NatsChoices, AForcedShareIsMet) {
  OpenOptions options;
  options.forced_softmax_share = 0.25;
  const auto model = OpenTiny(Tiny("natsl"), options);
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(64 * 200, 3));
  double softmax = 0, chunks = 0;
  for (const SoftmaxShare& share : model->SoftmaxShares()) {
    softmax += static_cast<double>(share.softmax_chunks);
    chunks += static_cast<double>(share.chunks);
  }
  EXPECT_EQ(chunks, 3 * 2 * 200);
  EXPECT_NEAR(softmax / chunks, 0.25, 0.05);
}

TEST(RandomWeights, DependOnTheSeedAlone) {
  const std::vector<TokenId> ids = RandomIds(10, 1);
  OpenOptions options;
  options.random_weights_seed = 1;
  const auto a = OpenTiny(Tiny("gated_deltanet"), options)->Forward(ids, false, {}).logits;
  const auto b = OpenTiny(Tiny("gated_deltanet"), options)->Forward(ids, false, {}).logits;
  options.random_weights_seed = 2;
  const auto c = OpenTiny(Tiny("gated_deltanet"), options)->Forward(ids, false, {}).logits;
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

void ExpectError(const std::function<void()>& body, ErrorCode code, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Errors, AreClear) {
  ExpectError([] { OpenModel("/nonexistent/model", {}); }, ErrorCode::kModel, "/nonexistent/model");
  OpenOptions options;
  options.dtype = "float8";
  ExpectError([&] { OpenTiny(Tiny("transformer"), options); }, ErrorCode::kUsage, "float8");
  options = {};
  options.device = "tpu";
  ExpectError([&] { OpenTiny(Tiny("transformer"), options); }, ErrorCode::kUsage, "tpu");
  const auto model = OpenTiny(Tiny("transformer"));
  const std::vector<TokenId> ids = {1, 96};
  ExpectError([&] { model->Forward(ids, false, {}); }, ErrorCode::kModel, "token id 96");
  std::vector<TokenScoreRequest> requests = {{{1, 2, 500}, 1}};
  std::vector<TokenScore> results(1);
  CountingListener listener;
  ExpectError([&] { model->Score(requests, results, listener); }, ErrorCode::kModel,
              "token id 500");
}

}  // namespace
}  // namespace natsl::model_adapters::native
