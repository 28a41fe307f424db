// results.json: the reference's keys, our record, no number that isn't one.
#include "reports/results_json.h"

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

#include "core/json.h"
#include "reports/run_markdown.h"
#include "tests/reports/run_record_example.h"

namespace natsl::reports {
namespace {

using core::Json;

std::vector<std::string> Keys(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(ResultsJson, CarriesTheReferencesKeysInItsOrder) {
  const Json json = Json::parse(ResultsJson(ExampleRecord()));
  EXPECT_EQ(Keys(json), (std::vector<std::string>{
                            "results", "group_subtasks", "configs", "versions", "n-shot",
                            "higher_is_better", "n-samples", "config", "max_length", "task_hashes",
                            "model_source", "model_name", "model_name_sanitized", "natsl_bench"}));
  EXPECT_EQ(Keys(json["results"]["piqa"]),
            (std::vector<std::string>{"name", "alias", "sample_len", "acc,none", "acc_stderr,none",
                                      "acc_norm,none", "acc_norm_stderr,none"}));
  EXPECT_EQ(Keys(json["versions"]), (std::vector<std::string>{"lambada_openai", "piqa"}));
  EXPECT_EQ(json["versions"]["piqa"].dump(), "1.0");
  EXPECT_EQ(json["results"]["piqa"]["acc_stderr,none"].get<double>(), 0.11413288653790232);
  EXPECT_EQ(json["n-samples"]["piqa"]["effective"], 20);
  EXPECT_EQ(json["higher_is_better"]["lambada_openai"]["perplexity"], false);
  EXPECT_EQ(json["config"]["limit"], 20);
  EXPECT_EQ(json["natsl_bench"]["settings"]["limit"]["origin"], "flag");
  EXPECT_EQ(json["model_name_sanitized"], "__path__to__model");
}

TEST(ResultsJson, NumbersThatDoNotExistAreNullWithTheReason) {
  RunRecord record = ExampleRecord();
  record.tasks[1].metrics[0].value = Number::Of(std::numeric_limits<double>::infinity());
  record.tasks[1].metrics[0].standard_error = Number::Missing("a replicate overflows");
  const std::string text = ResultsJson(record);
  EXPECT_EQ(text.find("NaN"), std::string::npos);
  EXPECT_EQ(text.find("Infinity"), std::string::npos);
  const Json row = Json::parse(text)["results"]["lambada_openai"];
  EXPECT_TRUE(row["perplexity,none"].is_null());
  EXPECT_EQ(row["perplexity,none_null_reason"], "infinite");
  EXPECT_EQ(row["perplexity_stderr,none"], "N/A");
}

TEST(ResultsJson, GroupsWithAValueAreInResultsAndGroups) {
  RunRecord record = ExampleRecord();
  GroupRecord group;
  group.name = "pair";
  group.tasks = {"piqa", "lambada_openai"};
  group.aggregate = true;
  group.evaluated = 40;
  group.metrics = {ExampleMetric("acc", Number::Of(0.225), Number::Of(0.05))};
  record.groups = {group};
  const Json json = Json::parse(ResultsJson(record));
  EXPECT_EQ(json["groups"]["pair"]["acc,none"], 0.225);
  EXPECT_EQ(json["results"]["pair"]["sample_len"], 40);
  EXPECT_EQ(json["group_subtasks"]["pair"].size(), 2u);
}

TEST(ResultsJson, SoftmaxSharesAreOfModelsWithSuchLayersAlone) {
  RunRecord record = ExampleRecord();
  EXPECT_EQ(ResultsJson(record).find("softmax"), std::string::npos);
  EXPECT_EQ(RunMarkdown(record).find("oftmax"), std::string::npos);
  record.softmax = {8, {{2, {1, 3}}, {5, {8, 8}}}};
  record.tasks[0].softmax = record.softmax;
  record.tasks[1].softmax = {0, {{2, {0, 0}}, {5, {0, 0}}}};
  const Json json = Json::parse(ResultsJson(record))["natsl_bench"];
  EXPECT_EQ(json["model"]["softmax_share"].dump(),
            R"({"share":0.625,"chunks":8,"layers":[)"
            R"({"layer":2,"share":0.25,"softmax_chunks":[1,3]},)"
            R"({"layer":5,"share":1.0,"softmax_chunks":[8,8]}]})");
  EXPECT_EQ(json["tasks"][0]["softmax_share"], json["model"]["softmax_share"]);
  EXPECT_TRUE(json["tasks"][1]["softmax_share"]["share"].is_null());
  EXPECT_EQ(json["tasks"][1]["softmax_share"]["share_null_reason"],
            "no sequence completes a chunk of 64 tokens");
  const std::string page = RunMarkdown(record);
  for (const char* text :
       {"|softmax share (NAtS-L)|62.5 % of 8 chunks",
        "|softmax share, layer 2|25.0 % (heads: 12.5 %, 37.5 %)",
        "|softmax share, layer 5|100.0 % (heads: 100.0 %, 100.0 %)", "Softmax share  "}) {
    EXPECT_NE(page.find(text), std::string::npos) << text << "\n" << page;
  }
  record.softmax = {.reason = "nobody told"};
  const Json untold = Json::parse(ResultsJson(record))["natsl_bench"]["model"];
  EXPECT_TRUE(untold["softmax_share"].is_null());
  EXPECT_EQ(untold["softmax_share_null_reason"], "nobody told");
  EXPECT_NE(RunMarkdown(record).find("nobody told"), std::string::npos);
}

TEST(Reports, BytesDoNotDependOnTheLocale) {
  const std::string json = ResultsJson(ExampleRecord());
  const std::string markdown = RunMarkdown(ExampleRecord());
  for (const char* name : {"de_DE.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(ResultsJson(ExampleRecord()), json);
    EXPECT_EQ(RunMarkdown(ExampleRecord()), markdown);
  }
  std::setlocale(LC_ALL, "C");
}

TEST(RunMarkdown, WarningsStandBeforeResults) {
  const std::string page = RunMarkdown(ExampleRecord());
  const size_t subset = page.find("**SUBSET** piqa: first 20 of 200 documents");
  const size_t truncated = page.find("piqa: 2 of 40 requests were truncated");
  const size_t results = page.find("## Results");
  ASSERT_NE(subset, std::string::npos);
  ASSERT_NE(truncated, std::string::npos);
  EXPECT_LT(subset, results);
  EXPECT_LT(truncated, results);
}

TEST(TimingsJson, PhasesInSeconds) {
  ExecutionRecord execution;
  execution.phases = {{"data", 1'500'000'000}};
  execution.tasks = {{"piqa", 4, 1, 2}};
  const Json json = Json::parse(TimingsJson(execution));
  EXPECT_EQ(json["phases_seconds"]["data"], 1.5);
  EXPECT_EQ(json["tasks"]["piqa"]["cached"], 1);
}

}  // namespace
}  // namespace natsl::reports
