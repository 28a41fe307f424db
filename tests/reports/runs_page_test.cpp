// Runs read back, their shape drawn out, and the page made of them.
#include "reports/runs_page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "reports/results_json.h"
#include "reports/runs_plots.h"
#include "reports/runs_shape.h"
#include "tests/process_folder.h"
#include "tests/reports/run_record_example.h"

namespace natsl::reports {
namespace {

namespace fs = std::filesystem;

TEST(ReadReportedRun, GivesBackTheRecord) {
  const fs::path folder = tests::ProcessFolder() / "read_reported_run";
  fs::create_directories(folder);
  RunRecord record = ExampleRecord();
  record.versions = {{"natsl-bench", "0.1.0"}};
  record.tasks[0].first_request = {20, {1, 2, 3, 4, 5, 6, 7, 8}, {9, 8, 7, 6, 5, 4, 3, 2}};
  record.tasks[1].metrics[0].standard_error = Number::Missing("too few documents");
  record.softmax = {.reason = "nobody told"};
  record.tasks[0].softmax = {8, {{2, {1, 3}}, {5, {8, 8}}}};
  core::WriteFileAtomic(folder / "results.json", ResultsJson(record));
  ExecutionRecord execution;
  execution.processes = 4;
  execution.phases = {{"data", 1'500'000'000}};
  execution.tasks = {{"piqa", 40, 10, 5}};
  core::WriteFileAtomic(folder / "timings.json", TimingsJson(execution));
  const ReportedRun run = ReadReportedRun(folder);
  EXPECT_EQ(core::PythonJson(RecordJson(run.record)), core::PythonJson(RecordJson(record)));
  ASSERT_TRUE(run.execution);
  EXPECT_EQ(TimingsJson(*run.execution), TimingsJson(execution));
  fs::remove_all(folder);
}

TEST(Shape, LengthsInTaskNames) {
  EXPECT_EQ(SplitLength("ruler_vt@32k").base, "ruler_vt");
  EXPECT_EQ(SplitLength("ruler_vt@32k").length, 32768);
  EXPECT_EQ(SplitLength("mqar@length=2k:queries=8").base, "mqar@queries=8");
  EXPECT_EQ(SplitLength("mqar@length=2k:queries=8").length, 2048);
  EXPECT_FALSE(SplitLength("piqa").length);
  EXPECT_FALSE(SplitLength("x@text=a").length);
}

TaskRecord Curve() {
  TaskRecord task;
  task.name = "extrapolation_pg19@2048";
  task.metrics = {
      ExampleMetric("perplexity", Number::Of(20), Number::Of(1), false),
      ExampleMetric("perplexity_1024-2048", Number::Of(std::exp(2.5)), Number::Of(0.5), false),
      ExampleMetric("perplexity_0-1024", Number::Of(std::exp(3.0)), Number::Of(0.5), false),
      ExampleMetric("perplexity_to_1024", Number::Of(std::exp(3.0)), Number::Of(0.5), false)};
  return task;
}

TEST(Shape, LossByPositionIsTheLogarithmOfPerplexity) {
  const auto blocks = LossByPosition(Curve());
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].end, 1024);
  EXPECT_DOUBLE_EQ(blocks[0].loss, 3.0);
  EXPECT_EQ(blocks[1].begin, 1024);
  EXPECT_DOUBLE_EQ(*blocks[1].error, 0.5 / std::exp(2.5));
  EXPECT_EQ(CumulativeLoss(Curve()).size(), 1u);
  EXPECT_TRUE(IsCurvePoint("perplexity_0-1024"));
  EXPECT_TRUE(IsCurvePoint("score_4-8k"));
  EXPECT_FALSE(IsCurvePoint("perplexity"));
  EXPECT_FALSE(IsCurvePoint("score_x"));
}

TEST(Shape, PrimaryMetricIsTheFirstWhereMoreIsBetter) {
  EXPECT_EQ(PrimaryMetric(ExampleRecord().tasks[0])->name, "acc");
  EXPECT_EQ(PrimaryMetric(ExampleRecord().tasks[1])->name, "acc");
  EXPECT_EQ(PrimaryMetric(Curve())->name, "perplexity");
}

TEST(RunsPage, WarningsStandBeforeResultsAndTextIsEscaped) {
  ReportedRun run{"a", ExampleRecord(), {}};
  run.record.tasks[0].warnings.push_back("<script>alert(1)</script>");
  const std::string html = RunsHtml({run});
  const size_t warnings = html.find(">Warnings</h2>"), results = html.find(">Results</h2>");
  ASSERT_NE(warnings, std::string::npos);
  EXPECT_LT(warnings, results);
  EXPECT_LT(html.find("SUBSET piqa: first 20 of 200 documents"), results);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_NE(html.find("0.4500"), std::string::npos);
  EXPECT_EQ(html.find(">Execution</h2>"), std::string::npos);  // the same run, the same bytes
}

TEST(RunsPage, RunsStandSideBySide) {
  std::vector<ReportedRun> runs = {{"out/a", ExampleRecord(), {}}, {"out/b", ExampleRecord(), {}}};
  runs[1].record.model.name = "/path/to/other";
  runs[1].record.tasks.pop_back();
  runs[1].record.tasks[0].metrics[0].value = Number::Of(0.55);
  runs[1].execution.emplace();
  LabelRuns(runs);
  EXPECT_EQ(runs[0].label, "model");
  EXPECT_EQ(runs[1].label, "other");
  runs[1].record.model.name = "/another/model/";
  LabelRuns(runs);
  EXPECT_EQ(runs[1].label, "other");  // the folders' ends, as labelled before
  const std::string html = RunsHtml(runs);
  EXPECT_NE(html.find("2 runs side by side"), std::string::npos);
  EXPECT_NE(html.find("0.5500"), std::string::npos);
  EXPECT_NE(html.find(">Execution</h2>"), std::string::npos);
  const std::string markdown = RunsMarkdown(runs);
  const std::string row =
      "|piqa          |acc       |none  |0.4500 ± 0.1141               |0.5500 ± 0.1141|\n";
  EXPECT_NE(markdown.find(row), std::string::npos) << markdown;
}

TEST(RunsPlots, OnlyWhatTheRunsHave) {
  std::vector<ReportedRun> runs = {{"a", ExampleRecord(), {}}};
  EXPECT_EQ(ScorePlots(runs).size(), 1u);
  EXPECT_TRUE(LengthPlots(runs).empty());
  EXPECT_TRUE(PositionPlots(runs).empty());
  EXPECT_TRUE(BucketPlots(runs).empty());
  for (const char* name : {"ruler_vt@4k", "ruler_vt@8k", "ruler_cwe@4k"}) {
    TaskRecord task = runs[0].record.tasks[0];
    task.name = name;
    runs[0].record.tasks.push_back(task);
  }
  runs[0].record.tasks.push_back(Curve());
  TaskRecord bucketed;
  bucketed.name = "longbench_e_trec";
  bucketed.metrics = {ExampleMetric("score", Number::Of(40), Number::Of(2)),
                      ExampleMetric("score_0-4k", Number::Of(50), Number::Of(3))};
  runs[0].record.tasks.push_back(bucketed);
  EXPECT_EQ(LengthPlots(runs).size(), 3u);  // the mean, vt, cwe
  EXPECT_EQ(PositionPlots(runs).size(), 1u);
  EXPECT_EQ(BucketPlots(runs).size(), 1u);
  EXPECT_EQ(ScorePlots(runs).size(), 2u);  // fractions, and LongBench's scores up to 100
}

}  // namespace
}  // namespace natsl::reports
