// Requests, targets and scores of the language-modelling and multiple-choice tasks equal the
// reference harness's on its own runs over the published files.
#include <gtest/gtest.h>

#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

struct GoldenCase {
  const char* file;
  const char* task;
  int64_t shots = 0;
  const char* from = "";
  FewShotSampler sampler = FewShotSampler::kRandom;
  int64_t head = 0;  ///< the data is the file's first records only (their split is the pool)
};

class GoldenRequests : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenRequests, EqualTheReference) {
  const GoldenCase& param = GetParam();
  const auto shared = testing::SharedFolder();
  const auto golden_file = shared / "golden" / "lm_eval" / (std::string(param.file) + ".jsonl.gz");
  if (!std::filesystem::exists(golden_file)) {
    GTEST_SKIP() << param.file << ": " << golden_file << " is not here";
  }
  testing::TemporaryFolder head;
  std::filesystem::path root = shared / "data";
  if (param.head > 0) {
    head.WriteHead("lambada/lambada_test.jsonl", root / "lambada" / "lambada_test.jsonl",
                   param.head);
    root = head.path();
  }
  std::string from = param.from;
  if (from == "openbookqa_pool") {  // the first 50 records of another file
    head.WriteHead("pool.jsonl", root / "openbookqa" / "Main" / "dev.jsonl", 50);
    from = (head.path() / "pool.jsonl").string();
  }
  TaskOptions options;
  options.few_shot.count = param.shots;
  options.few_shot.from = from;
  options.few_shot.sampler = param.sampler;
  const auto task = FindTask(param.task).load(DataSource(root), options);
  testing::ExpectGolden(*task, testing::ReadGolden(golden_file));
}

INSTANTIATE_TEST_SUITE_P(
    LmEval, GoldenRequests,
    ::testing::Values(
        GoldenCase{"lambada_openai", "lambada_openai"},
        GoldenCase{"lambada_openai_nobos", "lambada_openai"},
        GoldenCase{"lambada_openai_2shot", "lambada_openai", 2, "", FewShotSampler::kRandom, 60},
        GoldenCase{"piqa", "piqa"}, GoldenCase{"piqa_nobos", "piqa"},
        GoldenCase{"piqa_2shot", "piqa", 2, "first:20"},
        GoldenCase{"piqa_2shot_first_n", "piqa", 2, "first:20", FewShotSampler::kFirstN},
        GoldenCase{"hellaswag", "hellaswag"},
        GoldenCase{"hellaswag_2shot", "hellaswag", 2, "first:20"},
        GoldenCase{"arc_easy", "arc_easy"}, GoldenCase{"arc_easy_3shot", "arc_easy", 3, "first:20"},
        GoldenCase{"arc_easy_3shot_first_n", "arc_easy", 3, "first:20", FewShotSampler::kFirstN},
        GoldenCase{"arc_challenge", "arc_challenge"},
        GoldenCase{"arc_challenge_25shot", "arc_challenge", 25, "first:30"},
        GoldenCase{"openbookqa", "openbookqa"},
        GoldenCase{"openbookqa_5shot", "openbookqa", 5, "openbookqa_pool"},
        GoldenCase{"boolq", "boolq"}, GoldenCase{"boolq_1shot", "boolq", 1, "first:20"},
        GoldenCase{"winogrande", "winogrande"},
        GoldenCase{"winogrande_5shot", "winogrande", 5, "first:20"},
        GoldenCase{"social_iqa", "social_iqa"},
        GoldenCase{"social_iqa_3shot", "social_iqa", 3, "first:20"},
        GoldenCase{"wikitext", "wikitext"}, GoldenCase{"wikitext_nobos", "wikitext"}),
    [](const auto& info) { return std::string(info.param.file); });

}  // namespace
}  // namespace natsl::tasks
