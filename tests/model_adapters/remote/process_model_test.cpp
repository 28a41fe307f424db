// Models in processes of their own: the protocol, and processes that break it, die or fall silent.
#include "model_adapters/remote/process_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tests/process_folder.h"

namespace natsl::model_adapters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFake =
    std::string(NATSL_SOURCE_DIR) + "/tests/model_adapters/remote/fake_process.py";

std::unique_ptr<LanguageModel> Open(const std::string& behaviour, const std::string& options = "") {
  return OpenProcessModel("process:" + options + " python3 '" + kFake + "' " + behaviour);
}

template <typename Body>
std::string Refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

struct BatchRecorder final : BatchListener {
  void OnBatch(std::span<const size_t> finished, int64_t) override {
    for (const size_t i : finished) ++times[i];
  }
  std::map<size_t, int> times;
};

std::vector<LoglikelihoodResult> Score(LanguageModel& model,
                                       const std::vector<std::string>& continuations) {
  std::vector<LoglikelihoodRequest> requests;
  for (const std::string& text : continuations) requests.push_back({"context", text});
  std::vector<LoglikelihoodResult> results(requests.size());
  BatchRecorder listener;
  model.Loglikelihood(requests, results, listener);
  EXPECT_EQ(listener.times.size(), requests.size());
  for (const auto& [i, times] : listener.times) EXPECT_EQ(times, 1) << "request " << i;
  return results;
}

std::vector<std::string> Many(size_t count) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) texts.push_back(std::string(i % 7 + 1, 'x'));
  return texts;
}

/// The fake's log-prob of a continuation is minus its length.
void ExpectRight(const std::vector<LoglikelihoodResult>& results,
                 const std::vector<std::string>& texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(results[i].error, std::nullopt);
    EXPECT_EQ(results[i].log_prob, -static_cast<double>(texts[i].size())) << i;
  }
}

TEST(ProcessModelTest, AnswersAllKinds) {
  const auto model = Open("good");
  EXPECT_EQ(model->Info().family, "process");
  EXPECT_EQ(model->Info().max_length, 128);
  EXPECT_EQ(model->CountTokens("abc"), 3);
  const auto scores = Score(*model, {" yes", " n\xC3\xB6"});
  EXPECT_EQ(scores[0].log_prob, -4);
  EXPECT_TRUE(scores[0].is_greedy);
  EXPECT_THAT(scores[0].token_log_probs, ElementsAre(-1, -1, -1, -1));
  EXPECT_EQ(scores[0].context_tokens, 7);
  EXPECT_EQ(scores[1].log_prob, -3);
  BatchListener listener;
  std::vector<RollingResult> rolling(1);
  model->LoglikelihoodRolling(std::vector<RollingRequest>{{"four", {}}}, rolling, listener);
  EXPECT_EQ(rolling[0].log_prob, -4);
  std::vector<GenerateResult> made(1);
  model->GenerateUntil(std::vector<GenerateRequest>{{"say", {"\n"}, 5, {}, {}}}, made, listener);
  EXPECT_EQ(made[0].text, "say say");
  EXPECT_EQ(made[0].finish, FinishReason::kStop);
}

TEST(ProcessModelTest, AnswersInAnyOrderAndOfAnySize) {
  const auto texts = Many(50);
  ExpectRight(Score(*Open("reversed"), texts), texts);
  // More than a pipe holds, both ways at once.
  const std::vector<std::string> large(20, std::string(300'000, 'y'));
  ExpectRight(Score(*Open("good"), large), large);
}

TEST(ProcessModelTest, WrongAnswersAreErrorRows) {
  const auto results = Score(
      *Open("good"), {" ok", "nan", "positive", "text", "missing", "sum", "error", "infinite"});
  EXPECT_EQ(results[0].error, std::nullopt);
  EXPECT_THAT(*results[1].error, HasSubstr("\"log_prob\" is"));
  EXPECT_THAT(*results[2].error, HasSubstr("at most 0"));
  EXPECT_THAT(*results[3].error, HasSubstr("\"log_prob\" is \"high\""));
  EXPECT_THAT(*results[4].error, HasSubstr("is_greedy"));
  EXPECT_THAT(*results[5].error, HasSubstr("the sum of"));
  EXPECT_EQ(*results[6].error, "out of memory");
  EXPECT_THAT(*results[7].error, HasSubstr("log_prob"));
}

TEST(ProcessModelTest, BreakingTheProtocolEndsTheRun) {
  const auto refusal = [](const std::string& behaviour) {
    return Refusal([&] { Score(*Open(behaviour), Many(3)); });
  };
  EXPECT_THAT(refusal("chatter"), HasSubstr("stdout carries \"Loading"));
  EXPECT_THAT(refusal("duplicate"), HasSubstr("has its answer already"));
  EXPECT_THAT(refusal("unknown-id"), HasSubstr("never asked"));
  EXPECT_THAT(refusal("no-id"), HasSubstr("an \"id\""));
  EXPECT_THAT(refusal("not-json"), HasSubstr("one JSON object a line"));
  EXPECT_THAT(refusal("huge-line"), HasSubstr("a line of more than"));
}

TEST(ProcessModelTest, AHelloThatCantBeUsedIsAnError) {
  EXPECT_THAT(Refusal([] { Open("no-hello"); }),
              HasSubstr("ended (exit status 3) before its hello"));
  EXPECT_THAT(Refusal([] { Open("old-hello"); }), HasSubstr("\"protocol\" is 0"));
  EXPECT_THAT(Refusal([] { Open("silent-hello", "start=0.3"); }), HasSubstr("no hello within 0.3"));
  EXPECT_THAT(Refusal([] { OpenProcessModel("process:/no/such/program"); }),
              HasSubstr("can't be started"));
  EXPECT_THAT(Refusal([] { Score(*Open("only-generates"), Many(1)); }),
              HasSubstr("capability \"loglikelihood\""));
}

TEST(ProcessModelTest, StartsAgainAfterDeath) {
  // Dies after every fifth answer.
  const auto model = Open("mortal");
  const auto texts = Many(23);
  ExpectRight(Score(*model, texts), texts);
  EXPECT_THAT(model->Notes()[0], HasSubstr("was started again"));
  EXPECT_THAT(model->Notes()[0], HasSubstr("exit status 7"));
}

TEST(ProcessModelTest, ARequestOnWhichItDiesIsAnErrorRow) {
  auto texts = Many(20);
  texts[7] = "poison";
  const auto results = Score(*Open("good"), texts);
  EXPECT_THAT(*results[7].error, HasSubstr("failed 2 times on this request alone"));
  EXPECT_THAT(*results[7].error, HasSubstr("signal 9"));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i == 7) continue;
    EXPECT_EQ(results[i].log_prob, -static_cast<double>(texts[i].size()));
  }
}

TEST(ProcessModelTest, SilenceCountsAsDeath) {
  auto texts = Many(6);
  texts[2] = "hang";
  const auto results = Score(*Open("good", "timeout=1"), texts);
  EXPECT_THAT(*results[2].error, HasSubstr("no answer for 1 s"));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i == 2) continue;
    EXPECT_EQ(results[i].log_prob, -static_cast<double>(texts[i].size()));
  }
}

TEST(ProcessModelTest, AProcessThatOnlyDiesEndsTheRun) {
  EXPECT_THAT(Refusal([] { Score(*Open("dies-at-once", "restarts=2"), Many(5)); }),
              HasSubstr("failed 3 times in a row"));
  EXPECT_THAT(Refusal([] { Score(*Open("changes"), Many(5)); }), HasSubstr("as another model"));
}

TEST(ProcessModelTest, EndsWithTheModel) {
  const auto marker = tests::ProcessFolder() / "natsl_process_ended";
  std::filesystem::remove(marker);
  { const auto model = Open("marks-its-end '" + marker.string() + "'"); }
  EXPECT_TRUE(std::filesystem::exists(marker)) << "its stdin is closed, so that it can end well";
  std::filesystem::remove(marker);
}

}  // namespace
}  // namespace natsl::model_adapters
