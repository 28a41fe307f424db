// What a request's answer tells of NAtS-L's choices, whatever runs it, against passes over its
// whole sequence on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/cast.h"
#include "model_adapters/native/state.h"
#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {

/// Models whose layers choose differently.
inline const auto kCountedModels = testing::Values("natsl", "natsl_hybrid_rope_no_decay_raw",
                                                   "natsl_own_attention", "natsl_own_delta");

/// Multiple choice with a few-shot prefix: 6 documents of 4 continuations, one long document.
inline std::vector<TokenScoreRequest> ChoiceRequests() {
  const std::vector<TokenId> shots = RandomIds(90, 1);
  std::vector<TokenScoreRequest> requests;
  for (uint64_t document = 0; document < 6; ++document) {
    std::vector<TokenId> context = shots;
    const auto own = RandomIds(20 + static_cast<int64_t>(document) * 7, 100 + document);
    context.insert(context.end(), own.begin(), own.end());
    for (uint64_t choice = 0; choice < 4; ++choice) {
      std::vector<TokenId> ids = context;
      const auto end = RandomIds(1 + static_cast<int64_t>(choice % 3), 10 * document + choice);
      ids.insert(ids.end(), end.begin(), end.end());
      requests.push_back({ids, static_cast<int64_t>(context.size())});
    }
  }
  requests.push_back({RandomIds(700, 77), 650});
  return requests;
}

/// Counts what a pass's heads choose, changing nothing.
class Observed : public ChunkChoices {
 public:
  void OnChunk(int64_t layer, int64_t, int64_t, std::vector<uint8_t>& softmax) override {
    std::vector<int32_t>& heads = of_layer[layer];
    heads.resize(softmax.size());
    for (size_t head = 0; head < softmax.size(); ++head) heads[head] += softmax[head];
  }
  std::map<int64_t, std::vector<int32_t>> of_layer;
};

/// What the heads choose over `ids`, from a pass of its own.
inline SoftmaxCounts ChosenOver(NativeModel& model, std::span<const TokenId> ids) {
  SoftmaxCounts counts;
  counts.chunks = core::Size(ids) / 64;
  Observed observed;
  model.SetChunkChoices(&observed);
  model.Forward(ids, false, {});
  model.SetChunkChoices(nullptr);
  for (const NatsLayer& layer : model.Info().nats_layers) {
    std::vector<int32_t> heads = observed.of_layer[layer.layer];
    heads.resize(static_cast<size_t>(layer.heads));
    counts.by_head.insert(counts.by_head.end(), heads.begin(), heads.end());
  }
  return counts;
}

inline void ExpectSame(const SoftmaxCounts& counts, const SoftmaxCounts& expected,
                       const std::string& what) {
  EXPECT_EQ(counts.chunks, expected.chunks) << what;
  EXPECT_EQ(counts.by_head, expected.by_head) << what;
}

inline void ExpectScoresTellTheirChoices(const TinyModel& tiny, OpenOptions options,
                                         OpenFunction open = &OpenModel) {
  std::vector<TokenScoreRequest> requests = ChoiceRequests();
  requests.push_back(requests[5]);             // twice the same
  requests.push_back({RandomIds(63, 5), 1});   // no chunk
  requests.push_back({RandomIds(65, 6), 64});  // one, by the last id that is read
  requests.push_back({RandomIds(64, 7), 1});   // one more would make it
  const auto& long_ids = requests[24].ids;
  requests.push_back({{long_ids.begin(), long_ids.begin() + 200}, 100});  // ends inside another
  const auto reference = OpenTiny(tiny);
  std::vector<SoftmaxCounts> expected;
  int64_t softmax = 0, linear = 0;
  for (const TokenScoreRequest& request : requests) {
    expected.push_back(
        ChosenOver(*reference, std::span(request.ids).first(request.ids.size() - 1)));
    for (const int32_t count : expected.back().by_head) {
      softmax += count;
      linear += expected.back().chunks - count;
    }
  }
  EXPECT_GT(softmax, 0);
  EXPECT_GT(linear, 0);
  for (const bool share_prefixes : {true, false}) {
    for (const bool deterministic : {false, true}) {
      for (const int64_t batch_tokens : {int64_t{100}, int64_t{256}, int64_t{8192}}) {
        options.batch_tokens = batch_tokens;
        options.share_prefixes = share_prefixes;
        options.deterministic = deterministic;
        std::vector<TokenScore> scores(requests.size());
        CountingListener listener;
        OpenTiny(tiny, options, open)->Score(requests, scores, listener);
        for (size_t i = 0; i < requests.size(); ++i) {
          ExpectSame(scores[i].softmax, expected[i],
                     fmt::format("request {} in batches of {}", i, batch_tokens));
        }
      }
    }
  }
}

inline void ExpectGenerationsTellTheirChoices(const TinyModel& tiny, OpenOptions options,
                                              OpenFunction open = &OpenModel) {
  std::vector<TokenGenerateRequest> requests;
  for (const int64_t prompt : {40, 63, 64, 130, 40}) {
    TokenGenerateRequest request;
    request.prompt = RandomIds(prompt, 9);  // prefixes of each other
    request.max_new_tokens = requests.size() == 4 ? 0 : 70;
    if (prompt == 130) request.eos = {1, 5, 9, 30, 70};
    requests.push_back(request);
  }
  const auto reference = OpenTiny(tiny);
  options.batch_tokens = 128;
  for (const bool share_prefixes : {true, false}) {
    options.share_prefixes = share_prefixes;
    std::vector<TokenGeneration> results(requests.size());
    CountingListener listener;
    OpenTiny(tiny, options, open)->Generate(requests, results, listener);
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<TokenId> read = requests[i].prompt;
      const std::vector<TokenId>& made = results[i].ids;
      const bool last_is_read = results[i].finish == FinishReason::kEos || made.empty();
      read.insert(read.end(), made.begin(), made.end() - (last_is_read ? 0 : 1));
      ExpectSame(results[i].softmax, ChosenOver(*reference, read), fmt::format("request {}", i));
    }
  }
}

}  // namespace natsl::model_adapters::native
