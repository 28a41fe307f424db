// natsl-bench study as a program: a report of two runs, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Study, SummaryStartsWithWhatWasFound) {
  const TestFolder folder;
  WritePiqa(folder / "data", 3);
  WriteScript(folder / "answers.jsonl", "piqa", folder / "data", "{}");
  for (const char* run : {"one", "two"}) {
    ASSERT_EQ(RunProgram({"run", "--model", "scripted:" + (folder / "answers.jsonl"), "--data",
                          folder / "data", "--tasks", "piqa", "--output", folder / run})
                  .status,
              0);
  }
  const Outcome outcome =
      RunProgram({"study", "summary", folder / "one", folder / "two", "--title", "Both",
                  "--markdown", folder / "report.md", "--html", folder / "report.html"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string found = "Nothing to compare: no task was run by all models at a length";
  EXPECT_THAT(outcome.out, StartsWith(found));
  EXPECT_THAT(ReadText(folder / "report.md"), StartsWith("# Both\n\n" + found));
  EXPECT_THAT(ReadText(folder / "report.html"), HasSubstr(found));
}

TEST(Study, RatioNamesWhatIsMissing) {
  const TestFolder folder;
  const Outcome empty =
      RunProgram({"study", "ratio", folder.path().string(), "--plots", folder / "plots"});
  EXPECT_EQ(empty.status, 3);
  EXPECT_THAT(empty.err, HasSubstr("no folders like 3to1-seed1"));
  EXPECT_EQ(RunProgram({"study", "ratio", folder / "absent", "--plots", folder / "plots"}).status,
            2);
  EXPECT_EQ(RunProgram({"study", "ratio", folder.path().string()}).status, 2);
  EXPECT_EQ(RunProgram({"study", "summary", folder / "absent"}).status, 3);
}

}  // namespace
}  // namespace natsl::cli
