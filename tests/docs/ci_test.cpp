// examples/ci/evaluate.sh as a CI runs it: stored, passed, failed, and closed where there is
// nothing to compare with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace natsl::docs {
namespace {

using cli::ReadText;
using cli::TestFolder;
using testing::HasSubstr;

class CiExample : public testing::Test {
 protected:
  /// The script's exit status; its stderr goes to `err`.
  int Evaluate(const std::string& model, const std::string& output, const std::string& more) {
    const std::string source = NATSL_SOURCE_DIR;
    const std::string command =
        "export PATH='" NATSL_BINARY_DIR "':\"$PATH\" GITHUB_STEP_SUMMARY='" +
        (folder_ / "summary") + "'; '" + source + "/examples/ci/evaluate.sh' --model '" + source +
        "/samples/models/" + model + "' --data '" + source +
        "/samples/data' --tasks piqa,hellaswag,lambada_openai --baseline '" +
        (folder_ / "baseline") + "' --output '" + (folder_ / output) + "' " + more + " >'" +
        (folder_ / "out") + "' 2>'" + (folder_ / "err") + "' </dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string gate_ = "--gate '" NATSL_SOURCE_DIR "/examples/ci/gate.json'";
  const TestFolder folder_;
};

TEST_F(CiExample, StoresPassesAndFails) {
  ASSERT_EQ(Evaluate("tiny-transformer", "first", "--store"), 0) << ReadText(folder_ / "err");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "baseline/journal.sqlite"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "summary"));

  EXPECT_EQ(Evaluate("tiny-transformer", "same", gate_), 0) << ReadText(folder_ / "err");
  const std::string passed = ReadText(folder_ / "summary");
  EXPECT_THAT(passed, HasSubstr("piqa"));
  EXPECT_THAT(ReadText(folder_ / "same/junit.xml"), HasSubstr("failures=\"0\""));

  EXPECT_EQ(Evaluate("tiny-natsl-hybrid", "worse", gate_), 1) << ReadText(folder_ / "err");
  EXPECT_THAT(ReadText(folder_ / "worse/junit.xml"), testing::Not(HasSubstr("failures=\"0\"")));
  const std::string summary = ReadText(folder_ / "summary");
  EXPECT_TRUE(summary.starts_with(passed));
  EXPECT_THAT(summary.substr(passed.size()), HasSubstr("REGRESSION"));
  EXPECT_THAT(ReadText(folder_ / "worse/report.html"), HasSubstr("tiny-natsl-hybrid"));
}

TEST_F(CiExample, FailsClosed) {
  EXPECT_EQ(Evaluate("tiny-transformer", "run", gate_), 3);
  EXPECT_THAT(ReadText(folder_ / "err"), HasSubstr("holds no run"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run")) << "it ran before it looked";
  EXPECT_EQ(Evaluate("tiny-transformer", "run", ""), 2);
  EXPECT_THAT(ReadText(folder_ / "err"), HasSubstr("--gate is missing"));
  EXPECT_EQ(Evaluate("tiny-transformer", "run", "--gates x"), 2);
  EXPECT_THAT(ReadText(folder_ / "err"), HasSubstr("unknown option '--gates'"));
}

}  // namespace
}  // namespace natsl::docs
