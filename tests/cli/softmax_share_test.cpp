// The share of chunks that NAtS-L gives to softmax attention, as a run reports it: the same however
// the run was computed.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;
using core::Json;

class SoftmaxShareTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(NATSL_BINARY_DIR "/natsl_native.so")) {
      GTEST_SKIP() << "natsl_native is not built";
    }
  }
  std::vector<std::string> Arguments(const std::string& model, const std::string& output,
                                     const std::vector<std::string>& more = {},
                                     const std::string& tasks = "piqa,wikitext,fda") {
    std::vector<std::string> arguments = {"run",
                                          "--model",
                                          NATSL_SOURCE_DIR "/samples/models/" + model,
                                          "--tasks",
                                          tasks,
                                          "--limit",
                                          "6",
                                          "--data",
                                          NATSL_SOURCE_DIR "/samples/data",
                                          "--output",
                                          folder_ / output,
                                          "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Json Record(const std::string& output) {
    return Json::parse(ReadText(folder_.path() / output / "results.json"))["natsl_bench"];
  }
  void ExpectSameFiles(const std::string& a, const std::string& b) {
    for (const char* file : {"results.json", "report.md", "report.html"}) {
      EXPECT_EQ(ReadText(folder_.path() / a / file), ReadText(folder_.path() / b / file)) << file;
    }
  }
  TestFolder folder_;
};

TEST_F(SoftmaxShareTest, IsTheSameInAnyBatchesAndAfterAStop) {
  ASSERT_EQ(RunProgram(Arguments("tiny-natsl-hybrid", "whole")).status, 0);
  const Json record = Record("whole");
  const Json& share = record["model"]["softmax_share"];
  EXPECT_EQ(share["layers"].size(), 2u);
  int64_t chunks = 0, softmax = 0, decisions = 0;
  for (const Json& task : record["tasks"]) chunks += task["softmax_share"]["chunks"].get<int64_t>();
  EXPECT_EQ(share["chunks"], chunks);
  for (const Json& layer : share["layers"]) {
    for (const Json& count : layer["softmax_chunks"]) {
      softmax += count.get<int64_t>();
      decisions += chunks;
    }
  }
  EXPECT_GT(softmax, 0);
  EXPECT_LT(softmax, decisions);
  EXPECT_EQ(share["share"].get<double>(),
            static_cast<double>(softmax) / static_cast<double>(decisions));
  EXPECT_NE(ReadText(folder_ / "whole/report.md").find("|softmax share (NAtS-L)|"),
            std::string::npos);
  EXPECT_NE(ReadText(folder_ / "whole/report.html").find("softmax share (NAtS-L)"),
            std::string::npos);

  ASSERT_EQ(RunProgram(
                Arguments("tiny-natsl-hybrid", "small", {"--batch-tokens", "96", "--threads", "1"}))
                .status,
            0);
  ASSERT_EQ(RunProgram(Arguments("tiny-natsl-hybrid", "alone", {"--deterministic"})).status, 0);
  for (const char* other : {"small", "alone"}) {
    EXPECT_EQ(Record(other)["model"]["softmax_share"], share) << other;
    for (size_t t = 0; t < 3; ++t) {
      EXPECT_EQ(Record(other)["tasks"][t]["softmax_share"], record["tasks"][t]["softmax_share"]);
    }
  }

  BackgroundProgram program(Arguments("tiny-natsl-hybrid", "stopped", {"--batch-tokens", "96"}));
  while (!program.Ended() && !fs::exists(folder_ / "stopped/journal.sqlite-wal")) {
    std::this_thread::yield();
  }
  program.Signal(SIGKILL);
  program.Wait();
  ASSERT_EQ(RunProgram(Arguments("tiny-natsl-hybrid", "stopped", {"--batch-tokens", "96"})).status,
            0);
  ASSERT_EQ(RunProgram(Arguments("tiny-natsl-hybrid", "straight", {"--batch-tokens", "96"})).status,
            0);
  ExpectSameFiles("straight", "stopped");
  ASSERT_EQ(RunProgram({"rescore", folder_ / "whole", "--output", folder_ / "again"}).status, 0);
  ExpectSameFiles("whole", "again");
  const Outcome report = RunProgram(
      {"report", folder_ / "whole", folder_ / "small", "--markdown", folder_ / "both.md"});
  ASSERT_EQ(report.status, 0) << report.err;
  EXPECT_NE(ReadText(folder_ / "both.md").find("|softmax share (NAtS-L)|"), std::string::npos);
}

TEST_F(SoftmaxShareTest, OtherModelsHaveNone) {
  ASSERT_EQ(RunProgram(Arguments("tiny-gdn-hybrid", "a", {}, "piqa")).status, 0);
  for (const char* file : {"results.json", "report.md", "report.html"}) {
    EXPECT_EQ(ReadText(folder_.path() / "a" / file).find("oftmax share"), std::string::npos);
    EXPECT_EQ(ReadText(folder_.path() / "a" / file).find("softmax_share"), std::string::npos);
  }
}

}  // namespace
}  // namespace natsl::cli
