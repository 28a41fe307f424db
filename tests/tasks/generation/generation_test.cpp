// The generation tasks on documents of our own, and on broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tasks/generation/based_context.h"
#include "tasks/generation/based_prompts.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Task> LoadFrom(const std::filesystem::path& root, const std::string& task,
                               TaskOptions options = {}) {
  return FindTask(task).load(DataSource(root), options);
}

/// Metrics of the answer `text` to document `index`, by name.
std::map<std::string, double> Scores(const Task& task, int64_t index, const std::string& text,
                                     double log_prob = -1) {
  GenerateResult generated;
  generated.text = text;
  LoglikelihoodResult weighed;
  weighed.log_prob = log_prob;
  std::vector<Response> responses = {generated};
  if (task.Requests(index).requests.size() > 1) responses.emplace_back(weighed);
  std::map<std::string, double> scores;
  for (const SampleMetric& metric : task.Score(index, responses).metrics) {
    if (!metric.values.empty()) scores[metric.name + "," + metric.filter] = metric.values[0];
  }
  return scores;
}

std::string Prompt(const Task& task, int64_t index) {
  return std::get<GenerateRequest>(task.Requests(index).requests[0]).prompt;
}

TEST(SampleDocuments, NqOpen) {
  const auto task = LoadFrom(testing::SamplesFolder(), "nq_open");
  EXPECT_EQ(task->DocumentCount(), 16);
  EXPECT_EQ(Prompt(*task, 1),
            "Answer these questions:\n\nQ: how many legs does a spider have?\nA:");
  EXPECT_EQ(task->Requests(1).target, "['8', 'eight']");
  EXPECT_EQ(Scores(*task, 1, " Eight").at("exact_match,remove_whitespace"), 1);
  EXPECT_EQ(Scores(*task, 1, "eighty").at("exact_match,remove_whitespace"), 0);
  TaskOptions options;
  options.few_shot.count = 1;
  options.few_shot.sampler = FewShotSampler::kFirstN;
  EXPECT_EQ(Prompt(*LoadFrom(testing::SamplesFolder(), "nq_open", options), 0),
            "Answer these questions:\n\nQ: what do you call a shape with three sides?\nA: a "
            "triangle\nQ: what colour do you get when you mix blue and yellow?\nA:");
}

TEST(SampleDocuments, TriviaQaReadsBothFiles) {
  const auto task = LoadFrom(testing::SamplesFolder(), "triviaqa");
  EXPECT_EQ(task->DocumentCount(), 8);
  EXPECT_EQ(Prompt(*task, 7), "Question: What is measured in decibels??\nAnswer:");
  EXPECT_EQ(Scores(*task, 7, "sound-level\t").at("exact_match,remove_whitespace"), 0);
  EXPECT_EQ(Scores(*task, 7, "Sound level!").at("exact_match,remove_whitespace"), 1);
}

TEST(SampleDocuments, Drop) {
  const auto task = LoadFrom(testing::SamplesFolder(), "drop");
  EXPECT_EQ(task->DocumentCount(), 12);
  const DocumentRequests document = task->Requests(4);
  EXPECT_EQ(document.id, "match_2-1");
  EXPECT_THAT(Prompt(*task, 4), HasSubstr("field goal. Which teams kicked a field goal?"));
  EXPECT_EQ(document.target, "number,date,spans");
  EXPECT_EQ(Scores(*task, 0, "4").at("em,none"), 1);
  EXPECT_EQ(Scores(*task, 0, "four").at("em,none"), 1);
  EXPECT_EQ(Scores(*task, 0, "4 piers").at("f1,none"), 0.67);
  EXPECT_EQ(Scores(*task, 4, "Otters Herons").at("f1,none"), 0.33);
}

TEST(SampleDocuments, SquadV2) {
  const auto task = LoadFrom(testing::SamplesFolder(), "squadv2");
  EXPECT_EQ(task->DocumentCount(), 11);
  EXPECT_EQ(task->Requests(0).id, "sample-000");
  EXPECT_EQ(task->Requests(3).target, " unanswerable");
  const DocumentRequests first = task->Requests(0);
  const auto& weighed = std::get<LoglikelihoodRequest>(first.requests[1]);
  EXPECT_EQ(weighed.continuation, " unanswerable");
  EXPECT_EQ(weighed.context, Prompt(*task, 0));
  EXPECT_EQ(Scores(*task, 0, "Nine kilometres!").at("HasAns_exact,none"), 1);
  EXPECT_EQ(Scores(*task, 0, "Nine kilometres!").count("NoAns_exact,none"), 0);
  EXPECT_EQ(Scores(*task, 3, "unanswerable").at("NoAns_f1,none"), 0);
  EXPECT_EQ(Scores(*task, 3, " the ").at("NoAns_f1,none"), 1);
}

TEST(SampleDocuments, RecallTasks) {
  for (const char* name : {"swde", "fda", "squad_completion"}) {
    const auto task = LoadFrom(testing::SamplesFolder(), name);
    const DocumentRequests document = task->Requests(0);
    const auto& request = std::get<GenerateRequest>(document.requests[0]);
    const bool completion = std::string(name) == "squad_completion";
    EXPECT_EQ(request.max_new_tokens, completion ? 256 : 48);
    EXPECT_EQ(request.stop, std::vector<std::string>{completion ? "\n\n" : "\n"});
    EXPECT_EQ(Scores(*task, 0, "it is " + document.target + ", I think").at("contains,none"), 1);
    EXPECT_EQ(Scores(*task, 0, "").at("contains,none"), 0);
    TaskOptions shots;
    shots.few_shot.count = 1;
    EXPECT_THROW(LoadFrom(testing::SamplesFolder(), name, shots), Error);
  }
  EXPECT_EQ(LoadFrom(testing::SamplesFolder(), "fda")->Requests(0).target, "Lumen Pulse Oximeter");
}

/// Loading a task from one file fails and the message holds all of `parts`.
void ExpectBad(const std::string& task, const std::string& file, const std::string& content,
               const std::vector<std::string>& parts) {
  testing::TemporaryFolder folder;
  folder.Write(file, content);
  try {
    LoadFrom(folder.path(), task);
    FAIL() << task << " accepted " << content;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData) << error.what();
    for (const std::string& part : parts) EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(BadDocuments, AreErrorsThatSayWhere) {
  const std::string nq = "nq_open/NQ-open.dev.jsonl";
  ExpectBad("nq_open", nq, "{\"question\": \"q\"}\n", {nq + ":1", "answer", "split"});
  ExpectBad("nq_open", nq, "{\"question\": \"q\", \"answer\": []}\n", {nq + ":1", "answer"});
  ExpectBad("nq_open", nq, "{\"question\": 3, \"answer\": [\"a\"]}\n", {nq + ":1", "question"});
  ExpectBad("nq_open", nq, "{\"question\": \"q\", \"answer\": \"a\"}\n", {nq + ":1", "answer"});
  ExpectBad("nq_open", nq, "", {nq});
  const std::string trivia = "triviaqa/qa/web-dev.json";
  ExpectBad("triviaqa", trivia, R"({"Data": [{"Question": "q", "QuestionId": "1"}]})", {"Answer"});
  ExpectBad("triviaqa", trivia, R"({"Data": []})", {"no questions"});
  const std::string drop = "drop/drop_dataset_dev.json";
  ExpectBad("drop", drop, R"({"p": {"passage": "x", "qa_pairs": [{"question": "q"}]}})",
            {drop, "answer"});
  ExpectBad("drop", drop,
            R"({"p": {"passage": "x", "qa_pairs": [{"question": "q", "answer": {"spans": []}}]}})",
            {"every answer is empty"});
  ExpectBad("drop", drop, R"({"p": {"passage": "x", "qa_pairs": [
      {"question": "q", "query_id": "7", "answer": {"number": "1"}},
      {"question": "r", "query_id": "7", "answer": {"number": "2"}}]}})",
            {"query_id", "7"});
  const std::string squad = "squad/dev-v2.0.json";
  ExpectBad("squadv2", squad,
            R"({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
                {"id": "1", "question": "q"}]}]}]})",
            {"answers"});
  ExpectBad("swde", "swde/validation.jsonl", "{\"text\": \"t\", \"value\": \"  \"}\n", {"value"});
  ExpectBad("fda", "fda/validation.jsonl", "{\"text\": \"t\"}\n", {"value"});
}

TEST(BasedPrompts, EqualTheFork) {
  BasedFields swde;
  swde.key = "director";
  swde.context = "\nSome page about a film.. Director: Foo\n more. director:director:";
  EXPECT_EQ(BasedSwdePrompt(swde, false),
            "Some page about a film.. Director: Foo\n more. Director:");
  EXPECT_EQ(BasedSwdePrompt(swde, true),
            "Information about Director. Some page about a film.. Director: Foo\n more.\nSome page "
            "about a film.. Director: Foo\n more. Director:");
  BasedFields fda;
  fda.key = "device name";
  fda.context = "510(k) summary. Device name: X \nfoo bar. device name:";
  EXPECT_EQ(BasedFdaPrompt(fda, false), "510(k) summary. Device name: X \nfoo bar. . Device name:");
  BasedFields drop;
  drop.context = " The game ended 3-1.. How many goals";
  drop.question = "How many goals";
  drop.orig_question = "How many goals were there?:";
  EXPECT_EQ(BasedDropPrompt(drop, false), "The game ended 3-1. How many goals");
  EXPECT_EQ(BasedDropPrompt(drop, true),
            "How many goals were there? The game ended 3-1.\nThe game ended 3-1. How many goals");
  BasedFields trivia;
  trivia.context = "[DOC] [TLE] Title [PAR] Seville made it . ";
  trivia.question = "The man behind The Chipmunks was";
  EXPECT_EQ(BasedTriviaQaPrompt(trivia, false),
            "Title  Seville made it . The man behind The Chipmunks was");
}

TEST(BasedContext, Windows) {
  const auto window = [](int64_t ids, int64_t answer, int64_t free) {
    const TokenWindow w = WindowAround(ids, answer, 2048, free);
    return std::pair(w.begin, w.end);
  };
  EXPECT_EQ(window(5000, 3000, 50), std::pair(int64_t{2001}, int64_t{3999}));
  EXPECT_EQ(window(5000, 100, 50), std::pair(int64_t{0}, int64_t{1998}));
  EXPECT_EQ(window(5000, 4900, 50), std::pair(int64_t{3901}, int64_t{5000}));
  EXPECT_EQ(window(1500, 700, 50), std::pair(int64_t{0}, int64_t{1500}));
  EXPECT_EQ(window(5000, 3000, 48), std::pair(int64_t{2000}, int64_t{4000}));
  EXPECT_EQ(FirstOccurrence("Über Key and VALUE", {"value", "key"}), 5);
  EXPECT_EQ(FirstOccurrence("nothing", {"value"}), -1);
  const auto characters = [](const std::string& text) { return static_cast<int64_t>(text.size()); };
  EXPECT_EQ(CutAround("0123456789abcdefghij", 10, 6, 2, characters), "89ab");
  EXPECT_EQ(CutAround("0123456789", -1, 6, 2, characters), "789");
}

TEST(BasedTasks, CutDropAndAsk) {
  TaskOptions options;
  EXPECT_THROW(LoadFrom(testing::SamplesFolder(), "based_swde", options), Error);
  options.count_tokens = [](const std::string& text) { return static_cast<int64_t>(text.size()); };
  options.parameters = {{"context_length", "80"}, {"answer_length", "20"}};
  const auto task = LoadFrom(testing::SamplesFolder(), "based_swde", options);
  const std::string prompt = Prompt(*task, 0);
  EXPECT_THAT(prompt, HasSubstr("Director: Mara Holt"));
  EXPECT_TRUE(prompt.ends_with(" Director:")) << prompt;
  EXPECT_LE(prompt.size(), 80U);
  EXPECT_EQ(Scores(*task, 0, "mara holt, who").at("contains,none"), 1);

  testing::TemporaryFolder folder;
  folder.Write("based_drop/validation.jsonl",
               "{\"context\": \"A b c. How many\", \"question\": \"How many\", \"answers\": "
               "[\"3\", \"three\"]}\n");
  options.parameters = {{"context_length", "0"}};
  const auto drop = LoadFrom(folder.path(), "based_drop", options);
  EXPECT_EQ(Prompt(*drop, 0), "A b c. How many");
  EXPECT_EQ(Scores(*drop, 0, "Three!").at("contains,none"), 1);
}

}  // namespace
}  // namespace natsl::tasks
