// Checkpoints with a weight that is no number, opened by whatever runs them, and what becomes of
// requests then.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "core/files.h"
#include "model_adapters/native/weights.h"
#include "model_adapters/safetensors/writer.h"
#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {

/// Changes a slot's values.
using BreakFunction = std::function<void(const std::string& slot, at::Tensor& values)>;

/// `tiny` with random weights as a checkpoint, after `break_weights` saw each of them.
inline std::unique_ptr<NativeModel> OpenBroken(const TinyModel& tiny,
                                               const BreakFunction& break_weights,
                                               OpenOptions options = {},
                                               OpenFunction open = &OpenModel) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("natsl_broken_{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string config = TinyConfig(tiny);
  const ModelSpec spec = ParseModelSpec(config, tiny.name);
  const auto source = MakeRandomWeights(spec, 7);
  SafetensorsWriter writer;
  for (const SlotSpec& slot : ExpectedSlots(spec)) {
    at::Tensor values = source->Load(slot.slot).to(at::kFloat).contiguous().clone();
    break_weights(slot.slot, values);
    writer.Add(TensorName(spec, slot.slot), slot.shape,
               std::span(values.data_ptr<float>(), static_cast<size_t>(values.numel())));
  }
  core::WriteFileAtomic(folder / "config.json", config);
  writer.Write(folder / "model.safetensors");
  options.threads = 1;
  options.batch_tokens = 128;
  auto model = open(folder.string(), options);
  std::filesystem::remove_all(folder);
  return model;
}

/// How a prompt's score and its greedy and sampled generations end: failed for want of numbers, and
/// the greedy ids made before.
struct Endings {
  bool score_failed = false, greedy_failed = false, sampled_failed = false;
  std::vector<TokenId> greedy;
};

inline std::vector<Endings> EndingsOf(NativeModel& model,
                                      const std::vector<std::vector<TokenId>>& prompts) {
  std::vector<TokenScoreRequest> score;
  std::vector<TokenGenerateRequest> generate;
  for (const std::vector<TokenId>& prompt : prompts) {
    score.push_back({prompt, static_cast<int64_t>(prompt.size()) - 1});
    TokenGenerateRequest request;
    request.prompt = prompt;
    request.max_new_tokens = 3;
    generate.push_back(request);
    request.sampling.temperature = 1;
    generate.push_back(request);
  }
  std::vector<TokenScore> scores(score.size());
  std::vector<TokenGeneration> generations(generate.size());
  CountingListener listener;
  model.Score(score, scores, listener);
  model.Generate(generate, generations, listener);
  std::vector<Endings> endings;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const TokenGeneration &greedy = generations[2 * i], &sampled = generations[2 * i + 1];
    Endings& ending = endings.emplace_back();
    ending.score_failed = std::isnan(scores[i].log_probs.at(0));
    ending.greedy_failed = greedy.error.has_value();
    ending.sampled_failed = sampled.error.has_value();
    ending.greedy = greedy.ids;
  }
  return endings;
}

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

/// NAtS-L's scores decide between branches; without an output gate nothing reads its mix.
inline bool IsBesideTheLogits(const ModelSpec& spec, const std::string& slot) {
  const auto has = [&](const char* part) { return slot.find(part) != std::string::npos; };
  const auto* nats = std::get_if<NatsSpec>(&spec.layers[0].mixer);
  return has(".nats_layer.") ||
         (has(".nats_out_weights_layer.") && nats != nullptr && !nats->delta.output_gate);
}

/// The slots one after the other: all values are none, of the head's and embeddings' the row of an
/// id that isn't read. Requests fail where a NaN reaches a logit.
inline void ExpectEveryWeightToMatter(const TinyModel& tiny, const OpenOptions& options = {},
                                      OpenFunction open = &OpenModel) {
  const ModelSpec spec = ParseModelSpec(TinyConfig(tiny), tiny.name);
  std::vector<TokenId> prompt = RandomIds(70, 3);
  std::replace(prompt.begin(), prompt.end(), TokenId{5}, TokenId{6});
  for (const SlotSpec& broken : ExpectedSlots(spec)) {
    const bool of_ids = broken.slot == "head.weight" || broken.slot == "embeddings.weight";
    const bool is_read = broken.slot != "embeddings.weight" || spec.tied_head;
    const auto model = OpenBroken(
        tiny,
        [&](const std::string& slot, at::Tensor& values) {
          if (slot == broken.slot) (of_ids ? values[5] : values).fill_(kNoNumber);
        },
        options, open);
    const bool fails = is_read && !IsBesideTheLogits(spec, broken.slot);
    const Endings endings = EndingsOf(*model, {prompt})[0];
    EXPECT_EQ(endings.score_failed, fails) << broken.slot;
    EXPECT_EQ(endings.greedy_failed, fails) << broken.slot;
    EXPECT_EQ(endings.sampled_failed, fails) << broken.slot;
  }
}

/// Ids without numbers fail the requests that read them, when they do, and no others beside them.
inline void ExpectBrokenIdsToFailTheirReadersAlone(const TinyModel& tiny,
                                                   const OpenOptions& options = {},
                                                   OpenFunction open = &OpenModel) {
  constexpr TokenId kRead = 16;
  std::vector<std::vector<TokenId>> prompts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    prompts.push_back(RandomIds(60 + static_cast<int64_t>(seed), seed));
    for (TokenId& id : prompts.back()) id %= kRead;
  }
  prompts[0][prompts[0].size() - 2] = kRead;
  const auto whole = EndingsOf(*OpenBroken(
                                   tiny, [](const auto&, auto&) {}, options, open),
                               prompts);
  // Chosen for one of the other prompts, which then reads it.
  TokenId chosen = 0;
  for (size_t i = 1; i < whole.size(); ++i) chosen = std::max(chosen, whole[i].greedy.at(0));
  ASSERT_GT(chosen, kRead);
  const auto model = OpenBroken(
      tiny,
      [&](const std::string& slot, at::Tensor& values) {
        if (slot != "embeddings.weight") return;
        values[kRead].fill_(kNoNumber);
        values[chosen].fill_(kNoNumber);
      },
      options, open);
  const auto endings = EndingsOf(*model, prompts);
  const auto broken = [&](TokenId id) { return id == kRead || id == chosen; };
  int failed_later = 0, good = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const bool read = std::any_of(prompts[i].begin(), prompts[i].end() - 1, broken);
    EXPECT_EQ(endings[i].score_failed, read) << i;
    std::vector<TokenId> expected = whole[i].greedy;
    const auto last = std::find_if(expected.begin(), expected.end() - 1, broken);
    const bool fails_later = !read && last != expected.end() - 1;
    if (read) expected.clear();
    if (fails_later) expected.erase(last + 1, expected.end());
    EXPECT_EQ(endings[i].greedy, expected) << i;
    EXPECT_EQ(endings[i].greedy_failed, read || fails_later) << i;
    failed_later += fails_later ? 1 : 0;
    good += read || fails_later ? 0 : 1;
  }
  EXPECT_GT(failed_later, 0);
  EXPECT_GT(good, 0);
}

/// Models with one name for each weight, which gpt_neox has not.
inline std::vector<TinyModel> ModelsThatCanBeWritten() {
  std::vector<TinyModel> models = TinyModels();
  std::erase_if(models, [](const TinyModel& model) {
    return std::string_view(model.name).starts_with("gpt_neox");
  });
  return models;
}

/// Of those, with a head of their own.
inline std::vector<TinyModel> ModelsWithAHead() {
  std::vector<TinyModel> models = ModelsThatCanBeWritten();
  std::erase_if(models, [](const TinyModel& model) {
    return ParseModelSpec(TinyConfig(model), model.name).tied_head;
  });
  return models;
}

}  // namespace natsl::model_adapters::native
