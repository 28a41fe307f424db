// The reference's published cases through the command line: every metric by `inspect metric`, every
// request by `inspect requests`.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "core/json.h"
#include "tasks/metrics/chinese_segmenter.h"
#include "tasks/metrics/python_text.h"
#include "tasks/metrics/registry.h"
#include "tests/cli/program.h"
#include "tests/cli/reference_files.h"
#include "tests/tasks/metrics/golden_difference.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
namespace metrics = tasks::metrics;
using core::Json;

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(Json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return lines;
}

TEST(InspectMetric, AddsScoreOrErrorToEachLine) {
  const std::string cases = R"({"id": "a", "prediction": "The cat", "references": ["cat", "dog"]})"
                            "\n"
                            R"({"id": "b", "prediction": "no", "references": []})"
                            "\n";
  const Outcome outcome = RunProgram({"inspect", "metric", "squad_v1"}, cases);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Json> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("id"), "a");
  EXPECT_EQ(lines[0].at("score"), Json::parse(R"({"exact_match": 1.0, "f1": 1.0})"));
  EXPECT_TRUE(lines[1].contains("error"));
  EXPECT_FALSE(lines[1].contains("score"));
}

class InspectGoldenMetric : public ::testing::TestWithParam<metrics::MetricEntry> {};

TEST_P(InspectGoldenMetric, EqualsTheReference) {
  const std::string name = GetParam().name;
  const fs::path file = kShared / "golden/metrics" / (name + ".jsonl");
  if (!fs::exists(file)) GTEST_SKIP() << "no reference cases: " << file;
  const bool jieba = fs::exists(metrics::DefaultJiebaFolder() / "dict.txt");
  const std::string text = ReadText(file);
  const Outcome outcome = RunProgram({"inspect", "metric", name}, text);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Json> cases = Lines(text), lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!jieba && metrics::NeedsJieba(name, cases[i])) continue;
    const Json& line = lines[i];
    ASSERT_EQ(line.at("id"), cases[i].at("id"));
    const Json score =
        line.contains("score") ? line.at("score") : Json{{"error", line.at("error")}};
    EXPECT_EQ(metrics::Difference(cases[i].at("expected"), score, cases[i].at("id")), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, InspectGoldenMetric, ::testing::ValuesIn(metrics::Metrics()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(InspectGolden, EveryFileOfCasesIsAMetric) {
  if (!fs::exists(kShared / "golden/metrics")) GTEST_SKIP() << "no reference cases";
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kShared / "golden/metrics")) {
    if (entry.path().extension() != ".jsonl") continue;
    ++files;
    const std::string name = entry.path().stem().string();
    EXPECT_TRUE(std::any_of(metrics::Metrics().begin(), metrics::Metrics().end(),
                            [&](const metrics::MetricEntry& m) { return name == m.name; }))
        << name;
  }
  EXPECT_EQ(files, metrics::Metrics().size());
}

/// A file of requests and the options that build them. Data: the shared folder, or only the named
/// files of it (a layout of its own), or the first `head` lines of the first of them.
struct GoldenRequests {
  const char* name;
  const char* task;
  const char* options = "";  ///< one space between
  std::vector<const char*> files = {};
  int64_t head = 0;
};

const std::vector<GoldenRequests> kRequests = {
    {"lambada_openai", "lambada_openai"},
    {"lambada_openai_nobos", "lambada_openai"},
    {"lambada_openai_2shot",
     "lambada_openai",
     "--num-fewshot 2",
     {"lambada/lambada_test.jsonl"},
     60},
    {"piqa", "piqa"},
    {"piqa_nobos", "piqa"},
    {"piqa_2shot", "piqa", "--num-fewshot 2 --fewshot-from first:20"},
    {"piqa_2shot_first_n", "piqa",
     "--num-fewshot 2 --fewshot-from first:20 --fewshot-sampler first_n"},
    {"hellaswag", "hellaswag"},
    {"hellaswag_2shot", "hellaswag", "--num-fewshot 2 --fewshot-from first:20"},
    {"arc_easy", "arc_easy"},
    {"arc_easy_3shot", "arc_easy", "--num-fewshot 3 --fewshot-from first:20"},
    {"arc_easy_3shot_first_n", "arc_easy",
     "--num-fewshot 3 --fewshot-from first:20 --fewshot-sampler first_n"},
    {"arc_challenge", "arc_challenge"},
    {"arc_challenge_25shot", "arc_challenge", "--num-fewshot 25 --fewshot-from first:30"},
    {"openbookqa", "openbookqa"},
    {"openbookqa_5shot", "openbookqa", "--num-fewshot 5 --fewshot-from POOL"},
    {"boolq", "boolq"},
    {"boolq_1shot", "boolq", "--num-fewshot 1 --fewshot-from first:20"},
    {"winogrande", "winogrande"},
    {"winogrande_5shot", "winogrande", "--num-fewshot 5 --fewshot-from first:20"},
    {"social_iqa", "social_iqa"},
    {"social_iqa_3shot", "social_iqa", "--num-fewshot 3 --fewshot-from first:20"},
    {"wikitext", "wikitext"},
    {"wikitext_nobos", "wikitext"},
    {"triviaqa", "triviaqa"},
    {"triviaqa_nobos", "triviaqa"},
    {"triviaqa_2shot", "triviaqa", "--num-fewshot 2 --fewshot-from first:20"},
    {"triviaqa_original_layout",
     "triviaqa",
     "",
     {"triviaqa/qa/web-dev.json", "triviaqa/qa/wikipedia-dev.json"}},
    {"nq_open", "nq_open"},
    {"nq_open_5shot", "nq_open", "--num-fewshot 5 --fewshot-from first:20"},
    {"drop", "drop"},
    {"drop_original_layout", "drop", "", {"drop/drop.json"}},
    {"squadv2", "squadv2"},
    {"squad_completion", "squad_completion"},
};

class InspectGoldenRequests : public ::testing::TestWithParam<GoldenRequests> {
 protected:
  /// The folder of the data, made below folder_ where it isn't the shared one.
  fs::path Data() {
    const GoldenRequests& param = GetParam();
    if (param.files.empty()) return kShared / "data";
    for (const char* file : param.files) {
      std::string text = ReadText(kShared / "data" / file);
      if (param.head > 0) text = Head(text, param.head);
      fs::create_directories((folder_.path() / file).parent_path());
      WriteText(folder_.path() / file, text);
    }
    return folder_.path();
  }
  static std::string Head(const std::string& text, int64_t lines) {
    size_t end = 0;
    for (int64_t i = 0; i < lines && end != std::string::npos; ++i) end = text.find('\n', end) + 1;
    return text.substr(0, end);
  }

  TestFolder folder_;
};

/// As the reference logs a target: Python's str of it.
std::string TargetText(const Json& target) {
  if (target.is_string()) return target;
  if (target.is_array()) return metrics::PythonRepr(target.get<std::vector<std::string>>());
  return target.dump();
}

TEST_P(InspectGoldenRequests, EqualTheReference) {
  const GoldenRequests& param = GetParam();
  const fs::path file = kShared / "golden/lm_eval" / (std::string(param.name) + ".jsonl.gz");
  if (!fs::exists(file)) GTEST_SKIP() << param.name << ": " << file << " is not here";
  const std::vector<Json> golden = Lines(Unzip(file));
  std::vector<std::string> arguments = {
      "inspect", "requests",
      "--tasks", param.task,
      "--data",  Data(),
      "--limit", std::to_string(golden.back().at("doc_id").get<int64_t>() + 1)};
  std::istringstream options(param.options);
  for (std::string option; options >> option;) {
    if (option == "POOL") {  // the first 50 records of another file
      option = folder_ / "pool.jsonl";
      WriteText(option, Head(ReadText(kShared / "data/openbookqa/Main/dev.jsonl"), 50));
    }
    arguments.push_back(option);
  }
  const Outcome outcome = RunProgram(arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<Json> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), golden.size());
  for (size_t i = 0; i < golden.size(); ++i) {
    SCOPED_TRACE(i);
    const Json &line = lines[i], &expected = golden[i];
    for (const char* key :
         {"doc_id", "request", "type", "context", "continuation", "gen_kwargs", "max_gen_toks"}) {
      if (expected.contains(key)) {
        ASSERT_EQ(line.at(key), expected.at(key)) << key;
      }
    }
    if (expected.contains("target")) {
      ASSERT_EQ(line.at("target"), TargetText(expected.at("target")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, InspectGoldenRequests, ::testing::ValuesIn(kRequests),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(InspectGolden, EveryFileOfRequestsIsCompared) {
  const fs::path folder = kShared / "golden/lm_eval";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(".jsonl.gz")) continue;
    const std::string name = file.substr(0, file.size() - 9);
    // Hand-made requests without a task, and hand-made answers: compared where they belong.
    if (name == "edge_cases" || name == "scoring_cases") continue;
    EXPECT_TRUE(std::any_of(kRequests.begin(), kRequests.end(), [&](const GoldenRequests& r) {
      return name == r.name;
    })) << name;
  }
}

}  // namespace
}  // namespace natsl::cli
