// Synthetic recall: documents that can be answered, lengths, scores.
#include "tasks/synthetic/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const auto& [key, value] : recall.queries) {
    EXPECT_THAT(" " + recall.pairs + " ", HasSubstr(" " + key + " " + value + " "));
    EXPECT_TRUE(asked.insert(key).second);
  }
  EXPECT_EQ(recall.pairs.size(), 100 * 6 - 1u);
  EXPECT_THROW(MakeAssociativeRecall(677, 1, random), Error);
  EXPECT_THROW(MakeAssociativeRecall(3, 4, random), Error);
}

TEST(Phonebook, TheAskedNameStandsOnce) {
  core::PythonRandom random(7);
  const Phonebook book = MakePhonebook(50, random);
  const std::string name = book.prompt.substr(book.prompt.rfind('\n') + 1);
  EXPECT_THAT(book.prompt, HasSubstr(name + " " + book.number + "\n"));
  EXPECT_EQ(book.prompt.find(name), book.prompt.rfind(name, book.prompt.size() - name.size() - 1));
  EXPECT_THROW(MakePhonebook(2, random), Error);
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
