// Streams that a caller closes, fills or hands over: what the program writes goes where it belongs.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "core/json.h"
#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

class StreamsTest : public testing::Test {
 protected:
  void SetUp() override {
    WritePiqa(folder_.path() / "data", 40);
    WriteScript(folder_ / "script.jsonl", "piqa", folder_ / "data", R"({"batch_requests": 4})");
  }
  std::string Run(const std::string& output) const {
    return fmt::format("run --model 'scripted:{}' --tasks piqa --data '{}' --output '{}'",
                       folder_ / "script.jsonl", folder_ / "data", folder_ / output);
  }
  /// The program through a shell, with its redirections behind the arguments.
  static int Shell(const std::string& arguments) {
    const std::string command = fmt::format("'{}/natsl-bench' {}", NATSL_BINARY_DIR, arguments);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void ExpectSameFiles(const std::string& a, const std::string& b) {
    for (const char* file : {"results.json", "report.md", "report.html", "samples_piqa.jsonl"}) {
      const std::string text = ReadText(folder_.path() / a / file);
      EXPECT_FALSE(text.empty()) << file;
      EXPECT_EQ(text, ReadText(folder_.path() / b / file)) << b << " " << file;
    }
  }
  TestFolder folder_;
};

// A file that is opened next would take a closed stream's number, and progress would go into it.
TEST_F(StreamsTest, ClosedOnesSpoilNoFile) {
  ASSERT_EQ(Shell(Run("whole") + " >/dev/null 2>&1"), 0);
  int run = 0;
  for (const char* closed : {"2>&-", "<&- 2>&-"}) {
    const std::string output = fmt::format("closed{}", run++);
    EXPECT_EQ(Shell(Run(output) + " >/dev/null " + closed), 0) << closed;
    ExpectSameFiles("whole", output);
    EXPECT_EQ(ReadText(folder_.path() / output / "journal.lock"), "");
  }
  // The result can't be shown: that is an error, but what was computed is there.
  for (const char* closed : {">&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    const std::string output = fmt::format("closed{}", run++);
    EXPECT_EQ(Shell(Run(output) + " " + closed), 2) << closed;
    ExpectSameFiles("whole", output);
    EXPECT_EQ(ReadText(folder_.path() / output / "journal.lock"), "");
  }
}

TEST_F(StreamsTest, APageGoesIntoAPipeOrTheOutputItself) {
  ASSERT_EQ(Shell(Run("a") + " >/dev/null 2>&1"), 0);
  const std::string report = fmt::format("report '{}'", folder_ / "a");
  ASSERT_EQ(Shell(fmt::format("{} --json '{}' 2>/dev/null", report, folder_ / "plain.json")), 0);
  const std::string plain = ReadText(folder_ / "plain.json");
  EXPECT_EQ(Shell(fmt::format("{} --json /dev/stdout 2>/dev/null >'{}'", report,
                              folder_ / "stdout.json")),
            0);
  EXPECT_EQ(ReadText(folder_ / "stdout.json"), plain);
  EXPECT_EQ(Shell(fmt::format("{} --json /dev/stdout 2>/dev/null | cat >'{}'", report,
                              folder_ / "piped.json")),
            0);
  EXPECT_EQ(ReadText(folder_ / "piped.json"), plain);
  EXPECT_EQ(
      Shell(fmt::format("{} --json /dev/fd/7 2>/dev/null 7>'{}'", report, folder_ / "seven.json")),
      0);
  EXPECT_EQ(ReadText(folder_ / "seven.json"), plain);
  EXPECT_EQ(Shell(fmt::format("{} --json /dev/full 2>/dev/null", report)), 5);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A folder, or a stream that is closed, isn't an empty input.
TEST_F(StreamsTest, InputThatCantBeReadIsAnError) {
  const std::string verb = "inspect metric nq_open_exact_match";
  EXPECT_EQ(Shell(verb + " </dev/null >/dev/null 2>&1"), 0);
  EXPECT_EQ(Shell(verb + " </ >/dev/null 2>&1"), 3);
  EXPECT_EQ(Shell(verb + " <&- >/dev/null 2>&1"), 3);
}

}  // namespace
}  // namespace natsl::cli
