// `report` over runs of the program.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    WritePiqa(folder_.path() / "data", 12);
    WriteScript(folder_ / "script.jsonl", "piqa", folder_ / "data", "{}");
    for (const char* limit : {"6", "12"}) {
      ASSERT_EQ(RunProgram({"run", "--model", "scripted:" + (folder_ / "script.jsonl"), "--tasks",
                            "piqa", "--data", folder_ / "data", "--limit", limit, "--output",
                            folder_ / limit, "--quiet"})
                    .status,
                0);
    }
  }
  TestFolder folder_;
};

TEST_F(ReportTest, WritesAllFormsOfSeveralRuns) {
  const Outcome outcome =
      RunProgram({"report", folder_ / "6", folder_ / "12", "--html", folder_ / "r.html",
                  "--markdown", folder_ / "r.md", "--json", folder_ / "r.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string html = ReadText(folder_ / "r.html");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("SUBSET piqa: first 6 of 12 documents"), std::string::npos);
  EXPECT_EQ(html.find("http://"), html.find("http://www.w3.org"));  // nothing to fetch
  const Json json = Json::parse(ReadText(folder_ / "r.json"));
  ASSERT_EQ(json["runs"].size(), 2u);
  const Json own = Json::parse(ReadText(folder_ / "12/results.json"))["natsl_bench"];
  EXPECT_EQ(json["runs"][1]["record"], own);
  EXPECT_EQ(json["runs"][0]["execution"]["tasks"]["piqa"]["requests"], 12);
  EXPECT_NE(ReadText(folder_ / "r.md").find("SUBSET piqa: first 6 of 12"), std::string::npos);
}

TEST_F(ReportTest, MarkdownOfOneRunIsItsReportWithExecution) {
  const Outcome outcome = RunProgram({"report", folder_ / "12"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with(ReadText(folder_ / "12/report.md")));
  EXPECT_NE(outcome.out.find("## Execution"), std::string::npos);
}

TEST_F(ReportTest, ReportsCarryWhatARunWas) {
  const Json own = Json::parse(ReadText(folder_ / "12/results.json"))["natsl_bench"];
  EXPECT_EQ(own["settings"]["limit"]["origin"], "flag");
  EXPECT_EQ(own["settings"]["dtype"]["origin"], "default");
  EXPECT_EQ(own["versions"]["natsl-bench"], own["program_version"]);
  const Json& task = own["tasks"][0];
  EXPECT_EQ(task["data_sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(task["prompts_sha256"].get<std::string>().size(), 64u);
  EXPECT_NE(task["prompts_sha256"],
            Json::parse(
                ReadText(folder_ / "6/results.json"))["natsl_bench"]["tasks"][0]["prompts_sha256"]);
}

TEST_F(ReportTest, WhatIsNoRunIsRefused) {
  EXPECT_EQ(RunProgram({"report", folder_ / "data"}).status, 3);
  EXPECT_EQ(RunProgram({"report"}).status, 2);
  WriteText(folder_ / "bad/results.json", "{\"natsl_bench\": {\"schema\": 1}}");
  EXPECT_EQ(RunProgram({"report", folder_ / "bad"}).status, 3);
}

}  // namespace
}  // namespace natsl::cli
