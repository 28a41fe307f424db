// Checkpoints that open and compute nothing of worth: a run says so, and doesn't make scores of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;
using testing::HasSubstr;

class BrokenModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(NATSL_BINARY_DIR "/natsl_native.so")) {
      GTEST_SKIP() << "natsl_native is not built";
    }
    fs::copy(NATSL_SOURCE_DIR "/samples/models/tiny-natsl-hybrid", folder_ / "model");
  }
  /// Every weight (bfloat16) becomes the same number, as training that diverged leaves them.
  void FillWeights(uint16_t bits) {
    const fs::path file = folder_.path() / "model/model.safetensors";
    std::string bytes = ReadText(file);
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    for (size_t at = 8 + header; at + 1 < bytes.size(); at += 2) {
      std::memcpy(bytes.data() + at, &bits, sizeof(bits));
    }
    WriteText(file, bytes);
  }
  Outcome Run(const std::string& output) {
    return RunProgram({"run", "--model", folder_ / "model", "--data",
                       NATSL_SOURCE_DIR "/samples/data", "--tasks", "piqa,wikitext,nq_open",
                       "--limit", "2", "--output", folder_ / output, "--quiet"});
  }
  TestFolder folder_;
};

TEST_F(BrokenModelTest, WeightsThatAreNoNumbersScoreNothing) {
  constexpr uint16_t kNan = 0x7fc0, kInfinite = 0x7f80;
  for (const uint16_t bits : {kNan, kInfinite}) {
    const std::string output = bits == kNan ? "nan" : "infinite";
    FillWeights(bits);
    const Outcome outcome = Run(output);
    EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("6 documents have no score"));
    const Json tasks =
        Json::parse(ReadText(folder_.path() / output / "results.json"))["natsl_bench"]["tasks"];
    for (const Json& task : tasks) {
      EXPECT_EQ(task["requests"]["failed_documents"], 2) << task["name"];
      for (const Json& metric : task["metrics"]) EXPECT_TRUE(metric["value"].is_null());
    }
    EXPECT_THAT(ReadText(folder_.path() / output / "samples_piqa.jsonl"),
                HasSubstr("the model's log-probability is not a number"));
    EXPECT_THAT(ReadText(folder_.path() / output / "samples_nq_open.jsonl"),
                HasSubstr("the model's logits aren't numbers"));
    // What it wrote itself it reads again.
    const Outcome compare = RunProgram({"compare", folder_ / output, folder_ / output});
    EXPECT_EQ(compare.status, 0) << compare.err;
    EXPECT_THAT(compare.out, HasSubstr("a run has no value"));
    EXPECT_EQ(RunProgram({"report", folder_ / output}).status, 0);
  }
  const Outcome score = RunProgram({"inspect", "score", "--model", folder_ / "model"},
                                   R"({"context": "a", "continuation": " b"})"
                                   "\n");
  EXPECT_EQ(score.status, 0) << score.err;
  const Json line = Json::parse(score.out);  // as JSON has it, without NaN
  EXPECT_TRUE(line["logprob"].is_null());
  EXPECT_EQ(line["logprob_null_reason"], "not a number");
}

}  // namespace
}  // namespace natsl::cli
