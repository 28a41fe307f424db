// The newcomer's report and the study's page, on records made here.
#include "reports/summary_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "reports/ratio_page.h"

namespace natsl::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TaskRecord RecallTask(const std::string& name, const std::string& metric, double value) {
  TaskRecord task;
  task.name = name;
  MetricRecord record;
  record.name = metric;
  record.value = Number::Of(value);
  record.low = Number::Of(value / 2);
  record.high = Number::Of(value);
  record.n = 20;
  task.metrics.push_back(record);
  return task;
}

TaskRecord LossTask(double first, double second) {
  TaskRecord task;
  task.name = "extrapolation_text@length=2048";
  for (const auto& [name, value] :
       {std::pair("perplexity_0000-1024", first), std::pair("perplexity_1024-2048", second)}) {
    MetricRecord record;
    record.name = name;
    record.higher_is_better = false;
    record.value = Number::Of(std::exp(value));
    task.metrics.push_back(record);
  }
  return task;
}

ReportedRun Model(const std::string& label, double near, double far, double needle_near,
                  double needle_far) {
  ReportedRun run;
  run.label = label;
  run.record.tasks = {RecallTask("mqar@512", "acc", near), RecallTask("mqar@8k", "acc", far),
                      RecallTask("ruler_niah_single_1@length=512", "score", needle_near),
                      RecallTask("ruler_niah_single_1@length=8192", "score", needle_far),
                      LossTask(1.5, 1.25)};
  return run;
}

TEST(Finding, IsMadeOfTheNumbers) {
  const std::vector<ReportedRun> runs = {Model("transformer", 1.0, 0.0, 100, 10),
                                         Model("hybrid", 0.9, 0.5, 90, 80)};
  EXPECT_EQ(
      Finding(runs),
      "From 512 to 8k tokens hybrid keeps most at 8k (65 %); mean score of the recall tasks: "
      "transformer 100 % to 5 %, hybrid 90 % to 65 %; language-model loss of tokens 1k to 2k: "
      "transformer 1.25, hybrid 1.25.");
}

TEST(Finding, SaysWhereNothingIsFound) {
  EXPECT_THAT(Finding({Model("a", 0.5, 0.01, 50, 2)}),
              HasSubstr("no model finds what it was told at 8k"));
  ReportedRun bare;
  bare.label = "a";
  bare.record.tasks = {RecallTask("piqa", "acc", 0.5)};
  EXPECT_THAT(Finding({bare}), HasSubstr("Nothing to compare"));
}

TEST(Finding, LeavesOutLengthsThatARunLacks) {
  std::vector<ReportedRun> runs = {Model("a", 1.0, 0.25, 100, 25), Model("b", 1.0, 0.5, 100, 50)};
  runs[1].record.tasks.push_back(RecallTask("mqar@16k", "acc", 0.4));
  EXPECT_THAT(Finding(runs), HasSubstr("From 512 to 8k tokens b keeps most at 8k (50 %)"));
}

TEST(Summary, FirstSentenceThenTables) {
  Summary summary{.title = "Two models", .runs = {Model("a", 1.0, 0.0, 100, 10)}, .latency = {}};
  const std::string markdown = SummaryMarkdown(summary);
  EXPECT_THAT(markdown, testing::StartsWith("# Two models\n\nFrom 512 to 8k tokens a keeps"));
  EXPECT_THAT(markdown, HasSubstr("## mqar\n"));
  EXPECT_THAT(markdown, HasSubstr("1.00 (0.50-1.00)"));
  EXPECT_THAT(markdown, HasSubstr("0.10 (0.05-0.10)"));  // a score of 100 as a share
  EXPECT_THAT(markdown, HasSubstr("1k to 2k"));
  EXPECT_THAT(markdown, Not(HasSubstr("Speed")));
  const std::string html = SummaryHtml(summary);
  EXPECT_THAT(html, HasSubstr("From 512 to 8k tokens a keeps"));
  EXPECT_THAT(html, HasSubstr("<svg"));
}

RatioArm Arm(const std::string& name, double share, double recall, double needle_far, double loss) {
  RatioArm arm;
  arm.name = name;
  arm.parameters = 1000;
  arm.kv_bytes = static_cast<int64_t>(share * 4096);
  arm.fixed_bytes = 1024;
  for (int64_t seed = 1; seed <= 2; ++seed) {
    const double shift = seed == 1 ? -0.01 : 0.01;
    RatioRun run;
    run.seed = seed;
    run.share = share;
    run.train_loss = 0.5;
    run.scores = {{"mqar@512", recall + shift},
                  {"ruler_niah_single_1@512", recall + shift},
                  {"ruler_niah_single_1@2048", needle_far + shift}};
    run.loss_by_end = {{256, loss + shift}, {512, loss + shift}};
    arm.runs.push_back(run);
  }
  return arm;
}

RatioStudy Study() {
  RatioStudy study;
  study.trained_length = 512;
  study.state_length = 8192;
  study.arms = {Arm("linear", 0, 0.6, 0.1, 1.0), Arm("3:1", 0.24, 0.9, 0.5, 0.99),
                Arm("softmax", 1, 0.95, 0.02, 1.01), Arm("NAtS-L", 0.3, 0.85, 0.4, 1.0)};
  study.arms[3].learned = true;
  return study;
}

TEST(RatioPage, ClaimsFollowTheNumbers) {
  const RatioPage page = MakeRatioPage(Study(), "study");
  EXPECT_THAT(page.markdown, HasSubstr("**Recall rises with softmax share: holds.**"));
  EXPECT_THAT(page.markdown,
              HasSubstr("linear 0.600 (0.590 to 0.610), 3:1 0.900 (0.890 to 0.910)"));
  EXPECT_THAT(page.markdown, HasSubstr("**Language-model loss hardly changes: holds.**"));
  EXPECT_THAT(page.markdown,
              HasSubstr("**Pure linear models lose needles beyond the trained length: holds.**"));
  EXPECT_THAT(page.markdown, HasSubstr("**NAtS-L's share settles below 50 %: holds.**"));
  EXPECT_THAT(page.markdown, HasSubstr("](study/recall.svg)"));
  EXPECT_EQ(page.plots.size(), 3u);
  for (const auto& [file, svg] : page.plots) EXPECT_THAT(svg, HasSubstr("<svg")) << file;
}

TEST(RatioPage, ClaimsThatDoNotHoldAreSaidToFail) {
  RatioStudy study = Study();
  study.arms[0] = Arm("linear", 0, 0.95, 0.8, 1.2);
  study.arms[3] = Arm("NAtS-L", 0.6, 0.85, 0.4, 1.0);
  study.arms[3].learned = true;
  const RatioPage page = MakeRatioPage(study, "study");
  EXPECT_THAT(page.markdown, HasSubstr("Recall rises with softmax share: does not hold here"));
  EXPECT_THAT(page.markdown, HasSubstr("Language-model loss hardly changes: does not hold here"));
  EXPECT_THAT(page.markdown, HasSubstr("beyond the trained length: does not hold here"));
  EXPECT_THAT(page.markdown, HasSubstr("below 50 %: does not hold here"));
  // The ranges over seeds overlap: 0.885 to 0.905 and 0.890 to 0.910.
  study.arms[0] = Arm("linear", 0, 0.895, 0.8, 1.2);
  EXPECT_THAT(MakeRatioPage(study, "study").markdown,
              HasSubstr("Recall rises with softmax share: undecided"));
  study.arms[1].runs.clear();
  EXPECT_THROW(MakeRatioPage(study, "study"), Error);
}

TEST(RatioPage, SeedsThatDisagreeDecideNothing) {
  RatioStudy study = Study();
  study.arms[0].runs[0] = Arm("linear", 0, 0.01, 0.01, 1.0).runs[0];
  study.arms[0].runs[1] = Arm("linear", 0, 0.97, 0.93, 1.0).runs[1];
  study.arms[1].runs[0] = Arm("3:1", 0.24, 0.01, 0.01, 1.3).runs[0];
  study.arms[3] = Arm("NAtS-L", 0.02, 0.01, 0.01, 1.0);
  study.arms[3].learned = true;
  const std::string page = MakeRatioPage(study, "study").markdown;
  EXPECT_THAT(page, HasSubstr("Recall rises with softmax share: undecided"));
  EXPECT_THAT(page, HasSubstr("Language-model loss hardly changes: undecided"));
  EXPECT_THAT(page, HasSubstr("beyond the trained length: undecided"));
  // A small share in a model that recalls nothing is no evidence.
  EXPECT_THAT(page, HasSubstr("below 50 %: undecided"));
}

}  // namespace
}  // namespace natsl::reports
