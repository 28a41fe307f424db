// LongBench: prompts, first lines, buckets of LongBench-E, bad records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "tasks/longbench/longbench_tasks.h"

namespace natsl::tasks::longbench {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LongBenchTest : public ::testing::Test {
 protected:
  LongBenchTest() { std::filesystem::create_directories(root_ / "longbench"); }
  ~LongBenchTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& name, const std::string& lines) {
    std::ofstream(root_ / "longbench" / name) << lines;
  }
  std::unique_ptr<Task> Load(const std::string& name,
                             std::map<std::string, std::string> parameters = {}) {
    TaskOptions options;
    options.parameters = std::move(parameters);
    const DataSource data(root_);
    for (const TaskEntry& entry : LongBenchTasks()) {
      if (entry.name == name) return entry.load(data, options);
    }
    throw UsageError("no task {}", name);
  }
  static double Score(const Task& task, int64_t index, const std::string& text) {
    GenerateResult result;
    result.text = text;
    return task.Score(index, std::vector<Response>{result}).metrics[0].values[0];
  }

  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / fmt::format("natsl-longbench-{}", ::getpid());
};

TEST_F(LongBenchTest, TwentyOneSetsAndThirteenOfE) {
  EXPECT_EQ(Datasets().size(), 21u);
  EXPECT_EQ(LongBenchTasks().size(), 34u);
}

TEST_F(LongBenchTest, PromptsAreFilledOncePlainly) {
  Write("hotpotqa.jsonl",
        R"({"input": "Who {context}?", "context": "A {input} b", "answers": ["x"], "_id": "q7"})"
        "\n");
  const auto task = Load("longbench_hotpotqa", {{"max_length", "3500"}});
  const DocumentRequests document = task->Requests(0);
  const auto& request = std::get<GenerateRequest>(document.requests[0]);
  EXPECT_THAT(request.prompt, HasSubstr("given passages.\nA {input} b\n\nAnswer"));
  EXPECT_THAT(request.prompt, EndsWith("\n\nQuestion: Who {context}?\nAnswer:"));
  EXPECT_EQ(request.max_new_tokens, 32);
  EXPECT_EQ(request.middle_truncate_to, 3500);
  EXPECT_TRUE(request.stop.empty());
  EXPECT_EQ(document.id, "q7");
}

TEST_F(LongBenchTest, OddPromptEndsAreKept) {
  const auto prompt = [](const std::string& name) {
    for (const Dataset& dataset : Datasets()) {
      if (dataset.name == name) return FillPrompt(dataset, "C", "I");
    }
    return std::string();
  };
  EXPECT_THAT(prompt("passage_count"), EndsWith("The final answer is: "));
  EXPECT_THAT(prompt("lcc"), EndsWith("given below. \nCNext line of code:\n"));
  EXPECT_THAT(prompt("repobench-p"), EndsWith("CINext line of code:\n"));
  EXPECT_THAT(prompt("narrativeqa"), HasSubstr("asconcisely"));
  EXPECT_THAT(prompt("qasper"), HasSubstr("\n\n Answer the question"));
  EXPECT_THAT(prompt("multi_news"), StartsWith("You are given several news passages. Write a "
                                               "one-page summary of all news. \n\nNews:\nC"));
  EXPECT_THAT(prompt("vcsum"), EndsWith("会议总结："));
}

TEST_F(LongBenchTest, FirstLineRuleAndMaximumOverAnswers) {
  Write("triviaqa.jsonl",
        R"({"input": "q", "context": "c", "answers": ["Newton", "Einstein"], "all_classes": null})"
        "\n");
  const auto task = Load("longbench_triviaqa");
  EXPECT_NEAR(Score(*task, 0, "\n\nAlbert Einstein\nQuestion"), 2.0 / 3, 1e-12);
  EXPECT_EQ(Score(*task, 0, " \nEinstein"), 0);
}

TEST_F(LongBenchTest, ESetsScoreByLength) {
  Write("hotpotqa_e.jsonl", R"({"input": "q", "context": "c", "answers": ["x"], "length": 3999})"
                            "\n"
                            R"({"input": "q", "context": "c", "answers": ["x"], "length": 4000})"
                            "\n"
                            R"({"input": "q", "context": "c", "answers": ["x"], "length": 8000})"
                            "\n");
  const auto task = Load("longbench_e_hotpotqa");
  GenerateResult right;
  right.text = "x";
  for (int64_t i = 0; i < 3; ++i) {
    const SampleScore score = task->Score(i, std::vector<Response>{right});
    ASSERT_EQ(score.metrics.size(), 4u);
    for (size_t bucket = 0; bucket < 3; ++bucket) {
      EXPECT_EQ(score.metrics[bucket + 1].values.size(),
                bucket == static_cast<size_t>(i) ? 1u : 0u);
    }
  }
}

TEST_F(LongBenchTest, BadRecordsAreNamed) {
  const auto message = [&](const std::string& line, const std::string& set) {
    Write(set + ".jsonl", line + "\n");
    try {
      Load("longbench_" + set);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(R"({"input": "q", "answers": ["x"]})", "qasper"),
              HasSubstr("qasper.jsonl:1: the field \"context\" is missing"));
  EXPECT_THAT(message(R"({"input": "q", "context": "c", "answers": []})", "qasper"),
              HasSubstr("at least one answer"));
  EXPECT_THAT(message(R"({"input": 3, "context": "c", "answers": ["x"]})", "qasper"),
              HasSubstr("\"input\" is 3"));
  EXPECT_THAT(message(R"({"input": "q", "context": "c", "answers": ["x"]})", "trec"),
              HasSubstr("all_classes"));
  EXPECT_THAT(message("", "qasper"), HasSubstr("qasper.jsonl"));
}

TEST_F(LongBenchTest, PublishedRecordsLoad) {
  const std::filesystem::path shared = std::filesystem::path(NATSL_SOURCE_DIR) / "../shared/data";
  if (!std::filesystem::exists(shared / "longbench")) {
    GTEST_SKIP() << "LongBenchTest.PublishedRecordsLoad needs ../shared/data/longbench";
  }
  const DataSource data(shared);
  for (const TaskEntry& entry : LongBenchTasks()) {
    if (entry.name != "longbench_multi_news" && entry.name != "longbench_passage_retrieval_zh") {
      continue;
    }
    const auto task = entry.load(data, TaskOptions{});
    EXPECT_GT(task->DocumentCount(), 50);
    if (entry.name == "longbench_passage_retrieval_zh") {
      const DocumentRequests document = task->Requests(0);
      const std::string gold = document.target.substr(2, document.target.size() - 4);
      EXPECT_EQ(Score(*task, 0, "答案是" + gold), 1) << gold;
    }
  }
}

}  // namespace
}  // namespace natsl::tasks::longbench
