// Requests, filters and scores of the generation tasks equal the reference harness's on its own
// runs over the published files, and on its answers to hand-made responses.
#include <gtest/gtest.h>

#include <cmath>

#include "tasks/metrics/aggregation.h"
#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

using core::Json;

/// A data folder for a golden file: the shared one, or one that holds a single layout.
class DataFor {
 public:
  explicit DataFor(const std::string& name) {
    const auto data = testing::SharedFolder() / "data";
    const auto copy = [&](const std::string& file) {
      folder_.Write(file, core::ReadFile(data / file, ErrorCode::kData));
    };
    root_ = folder_.path();
    if (name == "drop_original_layout") {
      copy("drop/drop.json");
    } else if (name == "triviaqa_original_layout") {
      copy("triviaqa/qa/web-dev.json");
      copy("triviaqa/qa/wikipedia-dev.json");
    } else {
      root_ = data;
    }
  }
  const std::filesystem::path& root() const { return root_; }

 private:
  testing::TemporaryFolder folder_;
  std::filesystem::path root_;
};

std::unique_ptr<Task> Load(const std::string& golden, const std::string& task, int64_t shots = 0) {
  TaskOptions options;
  if (shots > 0) {
    options.few_shot.count = shots;
    options.few_shot.from = "first:20";
  }
  return FindTask(task).load(DataSource(DataFor(golden).root()), options);
}

std::map<std::string, std::vector<double>> ByName(const SampleScore& score) {
  std::map<std::string, std::vector<double>> values;
  for (const SampleMetric& metric : score.metrics) values[metric.name] = metric.values;
  return values;
}

struct Golden {
  const char* file;
  const char* task;
  int64_t shots = 0;
};

class GenerationGolden : public ::testing::TestWithParam<Golden> {};

TEST_P(GenerationGolden, EqualsTheReference) {
  const Golden& param = GetParam();
  const auto file =
      testing::SharedFolder() / "golden" / "lm_eval" / (std::string(param.file) + ".jsonl.gz");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
  const auto task = Load(param.file, param.task, param.shots);
  const std::vector<Record> golden = testing::ReadGolden(file);
  size_t line = 0;
  for (int64_t index = 0; line < golden.size(); ++index) {
    const DocumentRequests document = task->Requests(index);
    std::vector<Response> responses;
    for (const Request& request : document.requests) {
      const Json& expected = *golden.at(line).value;
      SCOPED_TRACE(golden[line++].where);
      ASSERT_EQ(document.doc_id, expected.at("doc_id").get<int64_t>());
      responses.push_back(testing::ResponseOf(expected));
      if (const auto* pair = std::get_if<LoglikelihoodRequest>(&request)) {
        ASSERT_EQ(pair->context, expected.at("context").get<std::string>());
        ASSERT_EQ(pair->continuation, expected.at("continuation").get<std::string>());
        continue;
      }
      const auto& generate = std::get<GenerateRequest>(request);
      ASSERT_EQ(generate.prompt, expected.at("context").get<std::string>());
      auto stop = expected.at("stop").get<std::vector<std::string>>();
      stop.pop_back();  // the model's end-of-text
      ASSERT_EQ(generate.stop, stop);
      ASSERT_EQ(generate.max_new_tokens, expected.at("max_gen_toks").get<int64_t>());
    }
    const Json& last = *golden[line - 1].value;
    SCOPED_TRACE(golden[line - 1].where);
    if (last.at("target").is_string()) {
      EXPECT_EQ(document.target, last.at("target").get<std::string>());
    }
    const SampleScore score = task->Score(index, responses);
    if (std::string(param.task) == "squadv2") {
      const Json& prediction = last.at("metrics_of_doc").at("prediction");
      EXPECT_EQ(score.filtered.at(0), prediction.at("prediction_text").get<std::string>());
      EXPECT_EQ(document.id, prediction.at("id").get<std::string>());
      EXPECT_EQ(ByName(score).at("best_f1").at(3),
                prediction.at("no_answer_probability").get<double>());
      continue;
    }
    EXPECT_EQ(score.filtered.at(0),
              last.value("output_filtered", last.at("output").get<std::string>()));
    for (const auto& [name, value] : last.at("metrics_of_doc").items()) {
      EXPECT_EQ(ByName(score).at(name), std::vector<double>{value.get<double>()}) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    LmEval, GenerationGolden,
    ::testing::Values(Golden{"drop", "drop"}, Golden{"drop_original_layout", "drop"},
                      Golden{"triviaqa", "triviaqa"}, Golden{"triviaqa_2shot", "triviaqa", 2},
                      Golden{"triviaqa_nobos", "triviaqa"},
                      Golden{"triviaqa_original_layout", "triviaqa"}, Golden{"nq_open", "nq_open"},
                      Golden{"nq_open_5shot", "nq_open", 5}, Golden{"squadv2", "squadv2"},
                      Golden{"squad_completion", "squad_completion"}),
    [](const auto& info) { return std::string(info.param.file); });

std::vector<Record> ScoringCases() {
  const auto file = testing::SharedFolder() / "golden" / "lm_eval" / "scoring_cases.jsonl.gz";
  return std::filesystem::exists(file) ? testing::ReadGolden(file) : std::vector<Record>{};
}

TEST(ScoringCases, EqualTheReference) {
  const std::vector<Record> cases = ScoringCases();
  if (cases.empty()) GTEST_SKIP() << "scoring_cases.jsonl.gz is not here";
  std::map<std::string, std::unique_ptr<Task>> tasks;
  for (const Record& record : cases) {
    SCOPED_TRACE(record.where);
    const Json& sample = *record.value;
    if (sample.contains("items")) continue;
    const std::string variant = sample.at("variant");
    auto& task = tasks[variant];
    if (!task) task = Load(variant, sample.at("task"));
    GenerateResult result;
    result.text = sample.at("response");
    const std::vector<Response> responses = {result};
    const SampleScore score = task->Score(sample.at("source_index").get<int64_t>(), responses);
    EXPECT_EQ(score.filtered.at(0), sample.at("filtered").get<std::string>());
    for (const auto& [name, value] : sample.at("metrics").items()) {
      EXPECT_EQ(ByName(score).at(name), std::vector<double>{value.get<double>()}) << name;
    }
  }
}

TEST(ScoringCases, SquadSets) {
  const std::vector<Record> cases = ScoringCases();
  if (cases.empty()) GTEST_SKIP() << "scoring_cases.jsonl.gz is not here";
  std::unique_ptr<Task> task;
  for (const Record& record : cases) {
    const Json& sample = *record.value;
    if (!sample.contains("items")) continue;
    SCOPED_TRACE(record.where);
    if (!task) task = Load("squadv2", "squadv2");
    std::map<std::string, std::vector<std::vector<double>>> values;
    for (const Json& item : sample.at("items")) {
      GenerateResult generated;
      generated.text = item.at("response");
      LoglikelihoodResult weighed;
      weighed.log_prob = item.at("logprob_unanswerable");
      const std::vector<Response> responses = {generated, weighed};
      const auto score = task->Score(item.at("source_index").get<int64_t>(), responses);
      for (const SampleMetric& metric : score.metrics) {
        if (!metric.values.empty()) values[metric.name].push_back(metric.values);
      }
    }
    for (const MetricCard& card : task->Card().metrics) {
      const auto value = metrics::AggregateMetric(card, values[card.name]).value;
      // The protocol says 0 where the set has no such question; here it has no value.
      EXPECT_NEAR(value.has_value() ? value.value() : 0,
                  sample.at("metrics").at(card.name).get<double>(), 1e-9)
          << card.name;
    }
  }
}

}  // namespace
}  // namespace natsl::tasks
