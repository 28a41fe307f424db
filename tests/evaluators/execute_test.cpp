// Plan, execution, resumption, cache and scoring, on a made-up task and model.
#include "evaluators/execute.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "evaluators/response_codec.h"
#include "evaluators/score.h"
#include "evaluators/softmax_use.h"
#include "evaluators/subset.h"
#include "tests/evaluators/fake_task.h"
#include "tests/process_folder.h"

namespace natsl::evaluators {
namespace {

namespace fs = std::filesystem;

class ExecuteTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        tests::ProcessFolder() / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    SelectedTask task;
    task.name = "fake";
    task.task = std::make_unique<FakeTask>(5);
    task.documents = {0, 1, 2, 3, 4};
    tasks_.push_back(std::move(task));
    plan_ = BuildRequestPlan(tasks_, 2);
  }
  void TearDown() override { fs::remove_all(folder_); }

  reports::TaskRecord Score(const Answers& answers) {
    samples_.clear();
    return ScoreTask(tasks_[0], plan_.slots[0], answers, 2,
                     [&](const reports::SampleRecord& sample) { samples_.push_back(sample); });
  }

  fs::path folder_;
  std::vector<SelectedTask> tasks_;
  RequestPlan plan_;
  FakeModel model_;
  std::vector<reports::SampleRecord> samples_;
};

TEST_F(ExecuteTest, PlanStandsInDocumentOrder) {
  ASSERT_EQ(plan_.size(), 10);
  EXPECT_EQ(plan_.loglikelihood[0].context, "q0");
  EXPECT_EQ(plan_.loglikelihood[9].continuation, " no");
  EXPECT_EQ(plan_.slots[0][3][1].index, 7);
  EXPECT_EQ(plan_.fingerprint, BuildRequestPlan(tasks_, 1).fingerprint);
}

TEST_F(ExecuteTest, ScoresWithErrorAndHashes) {
  const Answers answers = Execute(plan_, model_, {});
  ASSERT_TRUE(answers.complete);
  EXPECT_EQ(answers.batches, 4);
  const reports::TaskRecord record = Score(answers);
  ASSERT_EQ(record.metrics.size(), 1u);
  EXPECT_DOUBLE_EQ(*record.metrics[0].value.value, 0.6);
  EXPECT_NEAR(*record.metrics[0].standard_error.value, 0.24494897427831783, 1e-15);
  EXPECT_EQ(record.metrics[0].n, 5);
  EXPECT_EQ(record.counts.requests, 10);
  EXPECT_EQ(record.counts.output_tokens, 10);
  ASSERT_EQ(samples_.size(), 5u);
  EXPECT_EQ(samples_[0].target_hash,
            "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9");
  EXPECT_EQ(samples_[1].wrong, true);
  EXPECT_EQ(samples_[2].wrong, false);
  EXPECT_EQ(samples_[0].requests[1].response, (std::vector<std::string>{"-2.0", "False"}));
}

TEST_F(ExecuteTest, FailedAndSkippedDocumentsAreCountedNotScored) {
  model_.failing = "q1";
  model_.skipping = "q2";
  const reports::TaskRecord record = Score(Execute(plan_, model_, {}));
  EXPECT_EQ(record.counts.failed_documents, 1);
  EXPECT_EQ(record.counts.skipped_documents, 1);
  EXPECT_EQ(record.metrics[0].n, 3);
  EXPECT_DOUBLE_EQ(*record.metrics[0].value.value, 2.0 / 3.0);
  EXPECT_EQ(samples_[1].not_scored, "request 1 failed: out of luck");
  EXPECT_TRUE(samples_[1].metrics.empty());
  EXPECT_EQ(record.warnings.size(), 3u);
}

TEST_F(ExecuteTest, ResumesWithoutComputingTwice) {
  int asked = 0;
  {
    Journal journal(folder_);
    ExecuteOptions options;
    options.journal = &journal;
    options.stop_requested = [&asked] { return ++asked > 3; };
    const Answers stopped = Execute(plan_, model_, options);
    EXPECT_FALSE(stopped.complete);
    EXPECT_EQ(model_.batches, 2);
    EXPECT_EQ(journal.Count(), 6);
  }
  Journal journal(folder_);
  EXPECT_FALSE(ReadAnswers(plan_, journal).complete);
  ExecuteOptions options;
  options.journal = &journal;
  const Answers answers = Execute(plan_, model_, options);
  EXPECT_TRUE(answers.complete);
  EXPECT_EQ(model_.batches, 4);
  EXPECT_EQ(answers.origin[0][0], Origin::kJournal);
  EXPECT_EQ(answers.origin[0][9], Origin::kComputed);
  EXPECT_DOUBLE_EQ(*Score(answers).metrics[0].value.value, 0.6);
  EXPECT_TRUE(ReadAnswers(plan_, journal).complete);
}

// Of two choices whose log-probs are no numbers the first would win: right by the order of choices.
TEST_F(ExecuteTest, ALogProbThatIsNoNumberIsNoAnswer) {
  model_.not_a_number = "q0";
  Journal journal(folder_);
  ResponseCache cache(folder_ / "cache.sqlite", "scope");
  ExecuteOptions options;
  options.journal = &journal;
  options.cache = &cache;
  const Answers answers = Execute(plan_, model_, options);
  const reports::TaskRecord record = Score(answers);
  EXPECT_EQ(record.counts.failed_documents, 1);
  EXPECT_EQ(record.metrics[0].n, 4);
  EXPECT_NE(samples_[0].not_scored.find("is not a number"), std::string::npos)
      << samples_[0].not_scored;
  EXPECT_FALSE(cache.Find(cache.Key(plan_.loglikelihood[0])));
  EXPECT_TRUE(cache.Find(cache.Key(plan_.loglikelihood[2])));
  // Stored by a version that took it for an answer.
  tasks::LoglikelihoodResult stored;
  stored.log_prob = std::nan("");
  stored.output_tokens = 1;
  journal.Append(RequestKind::kLoglikelihood, {{4, Encode(stored)}});
  const Answers again = ReadAnswers(plan_, journal);
  EXPECT_TRUE(again.complete);
  EXPECT_EQ(Score(again).counts.failed_documents, 2);
}

TEST_F(ExecuteTest, WhatNatsHeadsChoseIsSummedByLayerAndHead) {
  const std::vector<reports::NatsLayerRecord> layers = {{1, 2}, {4, 1}};
  model_.failing = "q1";
  model_.skipping = "q2";
  Answers answers = Execute(plan_, model_, {});
  // Documents 0, 3 and 4 have answers, two requests each.
  for (const size_t request : {0, 1, 6, 7, 8, 9}) {
    const auto chunks = static_cast<int32_t>(request) + 1;
    answers.loglikelihood[request].softmax = {chunks, {chunks, 1, 0}};
  }
  const reports::SoftmaxUse use = CountSoftmax(layers, plan_.slots[0], answers);
  EXPECT_EQ(use.reason, "");
  EXPECT_EQ(use.chunks, 1 + 2 + 7 + 8 + 9 + 10);
  ASSERT_EQ(use.layers.size(), 2u);
  EXPECT_EQ(use.layers[0].layer, 1);
  EXPECT_EQ(use.layers[0].softmax_chunks, (std::vector<int64_t>{37, 6}));
  EXPECT_EQ(use.layers[1].layer, 4);
  EXPECT_EQ(use.layers[1].softmax_chunks, (std::vector<int64_t>{0}));
  reports::TaskRecord task;
  task.softmax = use;
  const reports::SoftmaxUse twice = SumSoftmax({task, task});
  EXPECT_EQ(twice.chunks, 74);
  EXPECT_EQ(twice.layers[0].softmax_chunks, (std::vector<int64_t>{74, 12}));

  answers.loglikelihood[6].softmax = {};
  const reports::SoftmaxUse untold = CountSoftmax(layers, plan_.slots[0], answers);
  EXPECT_TRUE(untold.layers.empty());
  EXPECT_NE(untold.reason.find("doesn't tell"), std::string::npos);
  reports::TaskRecord other;
  other.softmax = untold;
  EXPECT_EQ(SumSoftmax({task, other}).reason, untold.reason);
  EXPECT_FALSE(CountSoftmax({}, plan_.slots[0], answers).known());
  answers.loglikelihood[6].softmax = {1, {1}};
  EXPECT_THROW(CountSoftmax(layers, plan_.slots[0], answers), Error);
}

TEST_F(ExecuteTest, CacheAnswersTheSameModelOnly) {
  model_adapters::ModelInfo info;
  info.weights_fingerprint = "w";
  ExecuteOptions options;
  {
    ResponseCache cache(folder_ / "cache.sqlite", CacheScope(info, {}));
    options.cache = &cache;
    Execute(plan_, model_, options);
    EXPECT_EQ(model_.batches, 4);
    const Answers cached = Execute(plan_, model_, options);
    EXPECT_EQ(model_.batches, 4);
    EXPECT_EQ(cached.origin[0][5], Origin::kCache);
    EXPECT_EQ(cached.loglikelihood[0].log_prob, -1);
  }
  info.weights_fingerprint = "other";
  ResponseCache cache(folder_ / "cache.sqlite", CacheScope(info, {}));
  options.cache = &cache;
  Execute(plan_, model_, options);
  EXPECT_EQ(model_.batches, 8);
}

TEST_F(ExecuteTest, FailedAnswersStayOutOfTheCache) {
  model_.failing = "q0";
  ResponseCache cache(folder_ / "cache.sqlite", "scope");
  ExecuteOptions options;
  options.cache = &cache;
  Execute(plan_, model_, options);
  const Answers again = Execute(plan_, model_, options);
  EXPECT_EQ(again.origin[0][0], Origin::kComputed);
  EXPECT_EQ(again.origin[0][2], Origin::kCache);
}

TEST_F(ExecuteTest, JournalOfAnotherPlanIsRefused) {
  Journal journal(folder_);
  journal.Append(RequestKind::kLoglikelihood, {{10, "x"}});
  EXPECT_THROW(ReadAnswers(plan_, journal), Error);
}

TEST(Identity, DifferencesAreNamed) {
  const Identity stored = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  EXPECT_EQ(Differences(stored, stored), "");
  EXPECT_EQ(Differences(stored, {{"a", "1"}, {"b", "4"}, {"d", "5"}}),
            "b: 2 there, 4 now; d: absent there, 5 now; c: 3 there, absent now");
}

TEST(RequestKeys, AreOneToOne) {
  EXPECT_NE(RequestKey(tasks::LoglikelihoodRequest{"ab", "c"}),
            RequestKey(tasks::LoglikelihoodRequest{"a", "bc"}));
  tasks::GenerateRequest greedy, sampled;
  sampled.sampling.temperature = 0.5;
  EXPECT_NE(RequestKey(greedy), RequestKey(sampled));
  tasks::RollingRequest plain, whole, packed;
  whole.whole_windows = 1;
  packed.packed = {"text"};
  EXPECT_NE(RequestKey(plain), RequestKey(whole));
  EXPECT_NE(RequestKey(plain), RequestKey(packed));
}

TEST(Subset, FirstSampledAndByName) {
  const FakeTask task(100);
  SubsetOptions options;
  EXPECT_EQ(ChooseDocuments("fake", task, options).documents.size(), 100u);
  EXPECT_EQ(ChooseDocuments("fake", task, options).description, "");
  options.limit = 3;
  EXPECT_EQ(ChooseDocuments("fake", task, options).documents, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(ChooseDocuments("fake", task, options).description, "first 3 of 100");
  SubsetOptions sample;
  sample.sample = 4;
  sample.sample_seed = 1;
  // Python: sorted(random.Random(1).sample(range(100), 4))
  EXPECT_EQ(ChooseDocuments("fake", task, sample).documents, (std::vector<int64_t>{8, 17, 72, 97}));
  SubsetOptions ids;
  ids.ids = {"d7", "fake:d50", "other:d9"};
  EXPECT_EQ(ChooseDocuments("fake", task, ids).documents, (std::vector<int64_t>{7, 50}));
  ids.ids = {"nothing"};
  EXPECT_THROW(ChooseDocuments("fake", task, ids), Error);
}

}  // namespace
}  // namespace natsl::evaluators
