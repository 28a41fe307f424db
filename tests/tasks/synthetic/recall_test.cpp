// Synthetic recall: documents that can be answered, lengths, scores.
#include "tasks/synthetic/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "tasks/data_source.h"

namespace natsl::tasks::synthetic {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Task> Load(const std::string& name, std::map<std::string, std::string> parameters,
                           bool counts = true) {
  TaskOptions options;
  options.parameters = std::move(parameters);
  if (counts) {
    options.count_tokens = [](const std::string& text) {
      return static_cast<int64_t>(text.size());
    };
  }
  const DataSource none("/nonexistent");
  for (const TaskEntry& entry : SyntheticTasks()) {
    if (entry.name == name) return entry.load(none, options);
  }
  return nullptr;
}

TEST(AssociativeRecall, EveryQueryIsAnsweredByItsPair) {
  core::PythonRandom random(7);
  const AssociativeRecall recall = MakeAssociativeRecall(100, 20, random);
  std::set<std::string> asked;
  for (const auto& query : recall.queries) {
    EXPECT_THAT(" " + recall.pairs + " ", HasSubstr(" " + query.key + " " + query.value + " "));
    EXPECT_TRUE(asked.insert(query.key).second);
    EXPECT_EQ(query.filler, "");
  }
  EXPECT_EQ(recall.pairs.size(), 100 * 6 - 1u);
  EXPECT_EQ(MakeAssociativeRecall(677, 1, random).pairs.size(), 677 * 7 - 1u);  // three letters
  EXPECT_THROW(MakeAssociativeRecall(17577, 1, random), Error);
  EXPECT_THROW(MakeAssociativeRecall(3, 4, random), Error);
}

TEST(AssociativeRecall, FillerIsSpreadBetweenQueriesMostlyEarly) {
  core::PythonRandom random(7);
  int64_t first_half = 0;
  for (int i = 0; i < 200; ++i) {
    const AssociativeRecall recall = MakeAssociativeRecall(8, 4, random, 100);
    size_t filler = 0, before_third = 0;
    for (size_t q = 0; q < 4; ++q) {
      filler += recall.queries[q].filler.size();
      if (q < 3) before_third = filler;
    }
    EXPECT_EQ(filler, 100 * 6u);
    first_half += before_third < 50 * 6;
  }
  EXPECT_GT(first_half, 100);  // 1 / place: most places are early
}

TEST(Phonebook, TheAskedNameStandsOnce) {
  core::PythonRandom random(7);
  const Phonebook book = MakePhonebook(50, random);
  const std::string name = book.prompt.substr(book.prompt.rfind('\n') + 1);
  EXPECT_THAT(book.prompt, HasSubstr(name + " " + book.number + "\n"));
  EXPECT_EQ(book.prompt.find(name), book.prompt.rfind(name, book.prompt.size() - name.size() - 1));
  EXPECT_THROW(MakePhonebook(2, random), Error);
  EXPECT_THROW(MakePhonebook(10001, random), Error);
  const std::string large = MakePhonebook(10000, random).prompt;
  EXPECT_EQ(std::count(large.begin(), large.end(), '\n'), 10003);
}

TEST(SyntheticTasks, SameSeedSameDocuments) {
  for (const std::string name : {"mqar", "phonebook"}) {
    const auto a = Load(name, {{"samples", "5"}});
    const auto b = Load(name, {{"samples", "5"}});
    ASSERT_EQ(a->DocumentCount(), 5);
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(a->Requests(i).doc, b->Requests(i).doc);
    EXPECT_NE(a->Requests(0).doc, a->Requests(1).doc);
  }
}

TEST(SyntheticTasks, MqarAsksOneAfterTheOther) {
  const auto task = Load("mqar", {{"pairs", "3"}, {"queries", "2"}, {"samples", "1"}});
  const DocumentRequests document = task->Requests(0);
  ASSERT_EQ(document.requests.size(), 2u);
  const auto& first = std::get<LoglikelihoodRequest>(document.requests[0]);
  const auto& second = std::get<LoglikelihoodRequest>(document.requests[1]);
  EXPECT_THAT(second.context, HasSubstr(first.context + first.continuation + " "));
  LoglikelihoodResult right, wrong;
  right.is_greedy = true;
  right.log_prob = -1;
  wrong.log_prob = -3;
  const std::vector<Response> responses = {right, wrong};
  const SampleScore score = task->Score(0, responses);
  EXPECT_EQ(score.metrics[0].values, std::vector<double>({0.5}));
  EXPECT_EQ(score.metrics[1].values, std::vector<double>({0}));
  EXPECT_EQ(score.metrics[2].values, std::vector<double>({-2}));
}

TEST(SyntheticTasks, LengthIsReachedAndNotPassed) {
  // Tokens are bytes here: a pair takes 6, a phonebook line at most 24.
  const auto mqar = Load("mqar", {{"length", "1k"}, {"samples", "3"}});
  const auto book = Load("phonebook", {{"length", "1024"}, {"samples", "20"}});
  for (int64_t i = 0; i < mqar->DocumentCount(); ++i) {
    const DocumentRequests document = mqar->Requests(i);
    const auto& last = std::get<LoglikelihoodRequest>(document.requests.back());
    EXPECT_LE(last.context.size() + last.continuation.size(), 1024u);
    EXPECT_GT(last.context.size() + last.continuation.size(), 1024u - 7);
  }
  for (int64_t i = 0; i < book->DocumentCount(); ++i) {
    const DocumentRequests document = book->Requests(i);
    const auto& request = std::get<GenerateRequest>(document.requests[0]);
    EXPECT_LE(request.prompt.size() + 16, 1024u);
    EXPECT_GT(request.prompt.size() + 16, 1024u * 95 / 100);
  }
}

TEST(SyntheticTasks, PairsAndLengthTogetherGiveFiller) {
  const auto task =
      Load("mqar", {{"length", "2k"}, {"pairs", "16"}, {"queries", "4"}, {"samples", "10"}});
  for (int64_t i = 0; i < 10; ++i) {
    const DocumentRequests document = task->Requests(i);
    const auto& last = std::get<LoglikelihoodRequest>(document.requests.back());
    const std::string text = last.context + last.continuation;
    EXPECT_LE(text.size(), 2048u);
    EXPECT_GT(text.size(), 2048u - 7);
    EXPECT_EQ(text.find('\n'), 16 * 6 - 1u);
    // Each answered query stands in the next request's context, filler and all.
    for (size_t q = 0; q + 1 < document.requests.size(); ++q) {
      const auto& pair = std::get<LoglikelihoodRequest>(document.requests[q]);
      EXPECT_TRUE(text.starts_with(pair.context + pair.continuation + " "));
    }
  }
  EXPECT_THROW(Load("phonebook", {{"length", "2k"}, {"entries", "16"}}), Error);
}

TEST(SyntheticTasks, LengthsBeyondTwoLetterKeysAndPlainNames) {
  const auto mqar = Load("mqar", {{"length", "64k"}, {"samples", "2"}});
  const auto book = Load("phonebook", {{"length", "128k"}, {"samples", "2"}});
  for (int64_t i = 0; i < 2; ++i) {
    const auto pair = std::get<LoglikelihoodRequest>(mqar->Requests(i).requests.back());
    EXPECT_LE(pair.context.size() + 3, 65536u);
    EXPECT_GT(pair.context.size() + 3, 65536u * 99 / 100);
    const auto request = std::get<GenerateRequest>(book->Requests(i).requests[0]);
    EXPECT_LE(request.prompt.size() + 16, 131072u);
    EXPECT_GT(request.prompt.size() + 16, 131072u * 99 / 100);
  }
}

TEST(SyntheticTasks, PhonebookScoresTheNumberAlone) {
  const auto task = Load("phonebook", {{"samples", "1"}});
  GenerateResult answer;
  answer.text = " " + task->Requests(0).target;
  EXPECT_EQ(task->Score(0, std::vector<Response>{answer}).metrics[0].values[0], 1);
  answer.text += "1";
  EXPECT_EQ(task->Score(0, std::vector<Response>{answer}).metrics[0].values[0], 0);
}

TEST(SyntheticTasks, BadParametersAreNamed) {
  const auto message = [](std::map<std::string, std::string> parameters, bool counts = true) {
    try {
      Load("mqar", std::move(parameters), counts);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message({{"pears", "3"}}), HasSubstr("unknown parameter \"pears\""));
  EXPECT_THAT(message({{"pairs", "many"}}), HasSubstr("pairs is \"many\""));
  EXPECT_THAT(message({{"pairs", "0"}}), HasSubstr("at least 1"));
  EXPECT_THAT(message({{"length", "10"}}), HasSubstr("too short"));
  EXPECT_THAT(message({{"length", "1k"}}, false), HasSubstr("count tokens"));
}

}  // namespace
}  // namespace natsl::tasks::synthetic
