// Verdicts and gates on made-up runs.
#include "reports/compare_runs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "reports/gate.h"
#include "tests/process_folder.h"

namespace natsl::reports {
namespace {

/// `right` of `total` documents are right: the first ones, from `from` on.
StoredRun MadeRun(int total, int right, int from = 0) {
  StoredMetric metric;
  metric.key = "acc,none";
  metric.aggregation = "mean";
  metric.has_value = true;
  metric.value = static_cast<double>(right) / total;
  metric.documents = total;
  for (int i = 0; i < total; ++i) {
    metric.samples[std::to_string(i)] = {i >= from && i < from + right ? 1.0 : 0.0};
  }
  StoredTask task;
  task.name = "piqa";
  task.evaluated = total;
  task.identity = {{"data_sha256", "x"}, {"protocol", "p"}};
  task.metrics = {metric};
  return {"folder", "model", {task}};
}

MetricComparison Compare(const StoredRun& base, const StoredRun& changed, double margin = 0.01) {
  CompareOptions options;
  options.margin = margin;
  options.replicates = 2000;
  return CompareRuns(base, changed, options).at(0);
}

TEST(CompareRuns, Verdicts) {
  EXPECT_EQ(Compare(MadeRun(100, 50), MadeRun(100, 50)).verdict, Verdict::kSame);
  EXPECT_EQ(Compare(MadeRun(100, 50), MadeRun(100, 80)).verdict, Verdict::kBetter);
  EXPECT_EQ(Compare(MadeRun(100, 80), MadeRun(100, 50)).verdict, Verdict::kWorse);
  EXPECT_EQ(Compare(MadeRun(100, 50), MadeRun(100, 52)).verdict, Verdict::kAmbiguous);
  EXPECT_EQ(Compare(MadeRun(1000, 500), MadeRun(1000, 502), 0.05).verdict, Verdict::kSame);
}

TEST(CompareRuns, EffectTestAndFlips) {
  const MetricComparison row = Compare(MadeRun(10, 5), MadeRun(10, 5, 3));
  EXPECT_DOUBLE_EQ(row.effect, 0);
  EXPECT_EQ(row.lost, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(row.won, (std::vector<std::string>{"5", "6", "7"}));
  EXPECT_EQ(row.test, "McNemar exact");
  EXPECT_DOUBLE_EQ(row.p_value, 1);
  // 5 against 0 discordant documents: p = 2 * 2^-5.
  EXPECT_DOUBLE_EQ(Compare(MadeRun(10, 5), MadeRun(10, 10)).p_value, 0.0625);
}

TEST(CompareRuns, WeightedMetricsAreRatiosOfSums) {
  StoredRun base = MadeRun(2, 1), changed = MadeRun(2, 1);
  for (StoredRun* run : {&base, &changed}) {
    run->tasks[0].metrics[0].aggregation = "bits_per_byte";
    run->tasks[0].metrics[0].higher_is_better = false;
  }
  base.tasks[0].metrics[0].samples = {{"0", {-10, 4}}, {"1", {-30, 6}}};
  changed.tasks[0].metrics[0].samples = {{"0", {-8, 4}}, {"1", {-29, 6}}};
  EXPECT_DOUBLE_EQ(Compare(base, changed).effect, 0.3);
}

TEST(CompareRuns, WhatCannotBeComparedIsMissing) {
  StoredRun other = MadeRun(10, 5);
  other.tasks[0].identity["data_sha256"] = "y";
  EXPECT_EQ(Compare(MadeRun(10, 5), other).verdict, Verdict::kMissing);
  EXPECT_NE(Compare(MadeRun(10, 5), other).reason.find("data_sha256"), std::string::npos);
  other = MadeRun(10, 5);
  other.tasks[0].name = "renamed";
  EXPECT_EQ(CompareRuns(MadeRun(10, 5), other, {}).size(), 2u);
  other = MadeRun(10, 5);
  other.tasks[0].metrics[0].samples.clear();
  EXPECT_EQ(Compare(MadeRun(10, 5), other).verdict, Verdict::kMissing);
  EXPECT_EQ(Compare(MadeRun(10, 5), MadeRun(11, 5)).verdict, Verdict::kMissing);
}

// The same rows on both sides, but not all: of documents that were wrong, or of a file cut short.
TEST(CompareRuns, SomeDocumentsAreNotAll) {
  StoredRun base = MadeRun(10, 5), changed = MadeRun(10, 5);
  for (StoredRun* run : {&base, &changed}) {
    auto& samples = run->tasks[0].metrics[0].samples;
    for (const char* id : {"0", "1", "2", "3"}) samples.erase(id);
  }
  const MetricComparison row = Compare(base, changed);
  EXPECT_EQ(row.verdict, Verdict::kMissing);
  EXPECT_NE(row.reason.find("BASE has rows of 6 of 10 documents"), std::string::npos) << row.reason;
  const MetricComparison other = Compare(MadeRun(10, 5), changed);
  EXPECT_NE(other.reason.find("NEW has rows of 6 of 10"), std::string::npos) << other.reason;
}

class GateTest : public testing::Test {
 protected:
  int Status(const StoredRun& base, const StoredRun& changed, bool certain,
             const std::string& metric = "acc,none") {
    CompareOptions options;
    options.replicates = 2000;
    results_ = ApplyGate({{"piqa", metric, 0.02, 0.95, certain}}, base, changed, options);
    return GateStatus(results_);
  }
  std::vector<GateResult> results_;
};

TEST_F(GateTest, Statuses) {
  EXPECT_EQ(Status(MadeRun(100, 50), MadeRun(100, 50), true), 0);
  EXPECT_EQ(Status(MadeRun(100, 80), MadeRun(100, 50), false), 1);
  EXPECT_EQ(Status(MadeRun(100, 50), MadeRun(100, 48), true), 6);
  EXPECT_EQ(Status(MadeRun(100, 50), MadeRun(100, 49), false), 0);
  EXPECT_EQ(Status(MadeRun(100, 50), MadeRun(100, 47), false), 1);
  EXPECT_EQ(Status(MadeRun(100, 50), MadeRun(100, 50), false, "acc_norm,none"), 3);
  EXPECT_EQ(GateStatus({}), 3);
}

TEST_F(GateTest, JunitTellsFailures) {
  Status(MadeRun(100, 80), MadeRun(100, 50), false);
  const std::string xml = GateJunit(results_);
  EXPECT_NE(xml.find("tests=\"1\" failures=\"1\""), std::string::npos);
  EXPECT_NE(xml.find("type=\"REGRESSION\""), std::string::npos);
}

TEST(ReadGate, WrongFilesAreRefused) {
  const std::filesystem::path file = tests::ProcessFolder() / "gate.json";
  for (const char* text :
       {"", "[]", "{}", "{\"rules\": []}", "{\"rules\": [{\"task\": \"piqa\"}]}",
        R"({"rules": [{"task": "p", "metric": "m", "allowed_loss": -1}]})",
        R"({"rules": [{"task": "p", "metric": "m", "allowed_loss": 0, "alowed": 1}]})",
        R"({"rules": [{"task": "p", "metric": "m", "allowed_loss": 0, "confidence": 95}]})"}) {
    std::ofstream(file) << text;
    EXPECT_THROW(ReadGate(file), Error) << text;
  }
  std::ofstream(file) << R"({"rules": [{"task": "p", "metric": "m", "allowed_loss": 0.5}]})";
  EXPECT_EQ(ReadGate(file).at(0).allowed_loss, 0.5);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace natsl::reports
