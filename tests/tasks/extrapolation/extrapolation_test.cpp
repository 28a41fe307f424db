// Length extrapolation: buckets against the definition's worked example, corpora, bad parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "tasks/extrapolation/extrapolation_tasks.h"
#include "tasks/metrics/aggregation.h"

namespace natsl::tasks::extrapolation {
namespace {

using ::testing::HasSubstr;

class ExtrapolationTest : public ::testing::Test {
 protected:
  ExtrapolationTest() {
    std::filesystem::create_directories(root_ / "pg19");
    std::ofstream(root_ / "pg19/b.txt") << "second book";
    std::ofstream(root_ / "pg19/a.txt") << "first book";
  }
  ~ExtrapolationTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<Task> Load(const std::string& name,
                             std::map<std::string, std::string> parameters) {
    TaskOptions options;
    options.parameters = std::move(parameters);
    const DataSource data(root_);
    for (const TaskEntry& entry : ExtrapolationTasks()) {
      if (entry.name == name) return entry.load(data, options);
    }
    throw UsageError("no task {}", name);
  }

  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / fmt::format("natsl-extrapolation-{}", ::getpid());
};

TEST_F(ExtrapolationTest, BucketsOfTheWorkedExample) {
  const auto task = Load("extrapolation_pg19", {{"length", "8"}, {"bucket", "4"}});
  const std::vector<std::vector<float>> windows = {
      {3.2f, 2.9f, 2.5f, 2.4f, 2.2f, 2.1f, 2.1f, 2.0f},
      {3.0f, 3.1f, 2.7f, 2.2f, 2.0f, 2.3f, 1.9f, 2.6f}};
  std::map<std::string, std::pair<double, double>> sums;
  for (size_t w = 0; w < 2; ++w) {
    RollingResult result;
    for (const float nll : windows[w]) {
      result.token_log_probs.push_back(-nll);
      result.log_prob -= static_cast<double>(nll);
    }
    result.output_tokens = 8;
    result.scored_bytes = 16;
    for (const SampleMetric& metric :
         task->Score(static_cast<int64_t>(w), std::vector<Response>{result}).metrics) {
      sums[metric.name].first += metric.values[0];
      sums[metric.name].second += metric.values[1];
    }
  }
  const auto perplexity = [&](const std::string& name) {
    return std::exp(-sums.at(name).first / sums.at(name).second);
  };
  EXPECT_NEAR(perplexity("perplexity_0-4"), 15.642632, 1e-5);
  EXPECT_NEAR(perplexity("perplexity_4-8"), 8.584858, 1e-5);
  EXPECT_NEAR(perplexity("perplexity_to_4"), 15.642632, 1e-5);
  EXPECT_NEAR(perplexity("perplexity_to_8"), 11.588347, 1e-5);
  EXPECT_NEAR(perplexity("perplexity"), 11.588347, 1e-5);
  EXPECT_EQ(sums.at("bits_per_byte").second, 32);
  EXPECT_NEAR(sums.at("loss_0-4").first / sums.at("loss_0-4").second, 22.0 / 8, 1e-6);
  EXPECT_NEAR(sums.at("loss_4-8").first / sums.at("loss_4-8").second, 17.2 / 8, 1e-6);
}

TEST_F(ExtrapolationTest, TwoWindowsOfOneDocumentShareTheirBuckets) {
  const auto task =
      Load("extrapolation_pg19", {{"length", "4"}, {"bucket", "2"}, {"windows", "2"}});
  RollingResult result;
  result.token_log_probs = {-1, -1, -2, -2, -3, -3, -4, -4};
  result.output_tokens = 8;
  const SampleScore score = task->Score(0, std::vector<Response>{result});
  for (const SampleMetric& metric : score.metrics) {
    if (metric.name == "perplexity_0-2") {
      EXPECT_EQ(metric.values, std::vector<double>({-8, 4}));
    } else if (metric.name == "perplexity_2-4") {
      EXPECT_EQ(metric.values, std::vector<double>({-12, 4}));
    } else if (metric.name == "perplexity_to_4") {
      EXPECT_EQ(metric.values, std::vector<double>({-20, 8}));
    }
  }
}

TEST_F(ExtrapolationTest, FoldersAreReadInOrder) {
  const auto task = Load("extrapolation_pg19", {{"length", "8"}, {"bucket", "8"}});
  ASSERT_EQ(task->DocumentCount(), 2);
  const DocumentRequests document = task->Requests(0);
  const auto& request = std::get<RollingRequest>(document.requests[0]);
  EXPECT_EQ(request.text, "first book");
  EXPECT_EQ(request.max_length, 8);
  EXPECT_EQ(request.whole_windows, 1);
  EXPECT_EQ(document.id, "a");
}

TEST_F(ExtrapolationTest, StoriesAreTakenOnceAndCodeIsPacked) {
  std::filesystem::create_directories(root_ / "narrativeqa");
  std::ofstream(root_ / "narrativeqa/test.jsonl") << R"({"id": "s1", "text": "x"})"
                                                  << "\n"
                                                  << R"({"id": "s1", "text": "x"})"
                                                  << "\n"
                                                  << R"({"id": "s2", "text": "y"})"
                                                  << "\n";
  EXPECT_EQ(Load("extrapolation_narrativeqa", {})->DocumentCount(), 2);
  // The hub's layout: a row a question.
  std::ofstream(root_ / "narrativeqa/test.jsonl")
      << R"({"document": {"id": "s1", "kind": "gutenberg", "text": "x"}, "question": {"text": "q"}})"
      << "\n"
      << R"({"document": {"id": "s1", "kind": "gutenberg", "text": "x"}, "question": {"text": "r"}})"
      << "\n";
  const auto stories = Load("extrapolation_narrativeqa", {});
  ASSERT_EQ(stories->DocumentCount(), 1);
  EXPECT_EQ(stories->Requests(0).id, "s1");
  EXPECT_EQ(std::get<RollingRequest>(stories->Requests(0).requests[0]).text, "x");
  std::filesystem::create_directories(root_ / "codeparrot");
  std::ofstream(root_ / "codeparrot/valid.jsonl") << R"({"content": "a = 1"})"
                                                  << "\n"
                                                  << R"({"content": "b = 2"})"
                                                  << "\n";
  const auto code = Load("extrapolation_codeparrot", {});
  ASSERT_EQ(code->DocumentCount(), 1);
  const DocumentRequests document = code->Requests(0);
  const auto& request = std::get<RollingRequest>(document.requests[0]);
  EXPECT_EQ(request.text, "a = 1");
  EXPECT_EQ(request.packed, std::vector<std::string>({"b = 2"}));
  EXPECT_EQ(request.whole_windows, 100);
}

TEST_F(ExtrapolationTest, BadParametersAndMissingFiles) {
  const auto message = [&](const std::string& name, std::map<std::string, std::string> parameters) {
    try {
      Load(name, std::move(parameters));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message("extrapolation_pg19", {{"length", "10"}, {"bucket", "4"}}),
              HasSubstr("bucket 4 does not divide length 10"));
  EXPECT_THAT(message("extrapolation_text", {{"text", "nowhere"}}), HasSubstr("no such file"));
  EXPECT_THAT(message("extrapolation_narrativeqa", {}), HasSubstr("narrativeqa"));
}

}  // namespace
}  // namespace natsl::tasks::extrapolation
