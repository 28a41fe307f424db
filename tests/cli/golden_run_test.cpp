// Whole runs against lm-evaluation-harness's results: once with its own answers replayed (metrics
// must be equal), once with the same checkpoint computed here (answers must agree too).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/json.h"
#include "tests/cli/program.h"
#include "tests/cli/reference_files.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;

/// A run of the reference: its name in the goldens, and our options for the same.
struct GoldenRun {
  const char* name;
  const char* task;
  const char* options;  ///< one space between
};

const std::vector<GoldenRun> kRuns = {
    {"lambada_openai", "lambada_openai", "--limit 200"},
    {"lambada_openai_nobos", "lambada_openai", "--limit 50 --bos never"},
    {"piqa", "piqa", "--limit 200"},
    {"piqa_nobos", "piqa", "--limit 50 --bos never"},
    {"piqa_2shot", "piqa", "--limit 100 --num-fewshot 2 --fewshot-from first:20"},
    {"piqa_2shot_first_n", "piqa",
     "--limit 100 --num-fewshot 2 --fewshot-from first:20 --fewshot-sampler first_n"},
    {"hellaswag", "hellaswag", "--limit 200"},
    {"hellaswag_2shot", "hellaswag", "--limit 50 --num-fewshot 2 --fewshot-from first:20"},
    {"arc_easy", "arc_easy", "--limit 200"},
    {"arc_easy_3shot", "arc_easy", "--limit 100 --num-fewshot 3 --fewshot-from first:20"},
    {"arc_easy_3shot_first_n", "arc_easy",
     "--limit 100 --num-fewshot 3 --fewshot-from first:20 --fewshot-sampler first_n"},
    {"arc_challenge", "arc_challenge", "--limit 200"},
    {"arc_challenge_25shot", "arc_challenge",
     "--limit 20 --num-fewshot 25 --fewshot-from first:30"},
    {"openbookqa", "openbookqa", "--limit 200"},
    {"boolq", "boolq", "--limit 200"},
    {"boolq_1shot", "boolq", "--limit 30 --num-fewshot 1 --fewshot-from first:20"},
    {"winogrande", "winogrande", "--limit 200"},
    {"winogrande_5shot", "winogrande", "--limit 100 --num-fewshot 5 --fewshot-from first:20"},
    {"social_iqa", "social_iqa", "--limit 200"},
    {"social_iqa_3shot", "social_iqa", "--limit 60 --num-fewshot 3 --fewshot-from first:20"},
    {"wikitext", "wikitext", ""},
    {"wikitext_nobos", "wikitext", "--limit 3 --bos never"},
    {"triviaqa", "triviaqa", "--limit 50"},
    {"triviaqa_nobos", "triviaqa", "--limit 20 --bos never"},
    {"nq_open", "nq_open", "--limit 50"},
    {"drop", "drop", "--limit 50"},
    {"squadv2", "squadv2", "--limit 50"},
};

/// One run's line of the reference's results.json.
Json GoldenMetrics(const std::string& name) {
  const Json all = Json::parse(ReadText(kShared / "golden/lm_eval/results.json"));
  return all.at(name).at("metrics");
}

void ExpectMetrics(const Json& row, const Json& golden, double tolerance) {
  for (const auto& [key, expected] : golden.items()) {
    ASSERT_TRUE(row.contains(key)) << key;
    if (expected.is_string()) {
      EXPECT_EQ(row[key], expected) << key;
      continue;
    }
    const double value = expected.get<double>();
    ASSERT_TRUE(row[key].is_number()) << key << " is " << row[key];
    EXPECT_NEAR(row[key].get<double>(), value, tolerance * std::max(1.0, std::fabs(value))) << key;
  }
}

class GoldenRunTest : public testing::TestWithParam<GoldenRun> {
 protected:
  void SetUp() override {
    if (!fs::exists(kShared / "golden/lm_eval/results.json")) {
      GTEST_SKIP() << kShared << " isn't here: " << GetParam().name;
    }
    const std::string tasks = RunProgram({"list", "tasks"}).out;
    if (tasks.find(std::string("|") + GetParam().task) == std::string::npos) {
      GTEST_SKIP() << "there is no task " << GetParam().task;
    }
  }
  Json Run(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",
                                          "--model",
                                          model,
                                          "--tasks",
                                          GetParam().task,
                                          "--data",
                                          (kShared / "data").string(),
                                          "--output",
                                          folder_ / "out",
                                          "--quiet"};
    std::istringstream options(GetParam().options);
    for (std::string option; options >> option;) arguments.push_back(option);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = RunProgram(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    if (outcome.status != 0) return Json::object();
    return Json::parse(ReadText(folder_ / "out/results.json"))["results"][GetParam().task];
  }
  std::string Golden() {
    return Unzip(kShared / "golden/lm_eval" / (std::string(GetParam().name) + ".jsonl.gz"));
  }
  TestFolder folder_;
};

TEST_P(GoldenRunTest, ReplayedAnswersGiveEqualMetrics) {
  WriteText(folder_ / "script.jsonl", Golden());
  const Json row = Run("scripted:" + (folder_ / "script.jsonl"), {});
  ASSERT_FALSE(row.empty());
  ExpectMetrics(row, GoldenMetrics(GetParam().name), 1e-14);
}

TEST_P(GoldenRunTest, ComputedAnswersAgree) {
  if (!fs::exists(fs::path(NATSL_BINARY_DIR) / "natsl_native.so")) {
    GTEST_SKIP() << "the native module isn't built: " << GetParam().name;
  }
  // The reference's run gave the checkpoint's tokenizer its special tokens.
  fs::copy(kShared / "data/models/stories260K-hf", folder_.path() / "model");
  WriteText(folder_ / "model/tokenizer_config.json",
            R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",)"
            R"( "eos_token": "</s>", "unk_token": "<unk>"})");
  const Json row = Run(folder_ / "model", {});
  ASSERT_FALSE(row.empty());
  std::istringstream samples(
      ReadText(folder_ / ("out/samples_" + std::string(GetParam().task) + ".jsonl")));
  std::istringstream golden(Golden());
  std::string sample_line, line;
  int64_t compared = 0;
  while (std::getline(samples, sample_line)) {
    const Json sample = Json::parse(sample_line);
    for (size_t i = 0; i < sample["resps"].size(); ++i) {
      ASSERT_TRUE(std::getline(golden, line));
      const Json expected = Json::parse(line);
      const Json& response = sample["resps"][i][0];
      const std::string where = "doc " + sample["doc_id"].dump() + " request " + std::to_string(i);
      if (expected.contains("output")) {
        EXPECT_EQ(response, expected["output"]) << where;
      } else {
        const std::string log_prob = response.is_array() ? response[0] : response;
        const double value = expected["logprob"].get<double>();
        EXPECT_NEAR(std::stod(log_prob), value, 1e-3 * std::max(1.0, std::fabs(value) / 1000))
            << where;
        if (response.is_array()) {
          EXPECT_EQ(response[1], expected["is_greedy"].get<bool>() ? "True" : "False") << where;
        }
      }
      const int64_t dropped =
          expected.contains("dropped_ids") ? expected["dropped_ids"].get<int64_t>() : 0;
      EXPECT_EQ(sample["truncated_tokens"][i], dropped) << where;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
  EXPECT_FALSE(std::getline(golden, line)) << "the reference has more requests";
  ExpectMetrics(row, GoldenMetrics(GetParam().name), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Reference, GoldenRunTest, testing::ValuesIn(kRuns),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace natsl::cli
