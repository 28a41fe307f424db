// `data verify`, `data path` and `list datasets` through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

using ::testing::HasSubstr;

class DataVerbTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    WriteText(file, text);
  }
  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "data");
    return RunProgram(arguments);
  }

  TestFolder folder_;
};

TEST_F(DataVerbTest, VerifyTellsMissingWrongSizeWrongHashAndUnknown) {
  Write("wikitext/wikitext-2-raw/wiki.test.raw", "short");
  Write("piqa/valid.jsonl", "{}\n");
  Write("piqa/valid-labels.lst", "0\n");
  const Outcome outcome = Run({"verify", "--data", folder_.path(), "wikitext", "piqa"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, HasSubstr("wrong size"));
  EXPECT_THAT(outcome.out, HasSubstr("5 bytes, expected 1290590"));
  EXPECT_THAT(outcome.out, HasSubstr("wrong hash"));
  EXPECT_THAT(outcome.out, HasSubstr("present, nothing known to compare with"));
  EXPECT_THAT(outcome.out, HasSubstr("missing"));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(DataVerbTest, VerifyOfEverythingIsRightWhereNothingIsThere) {
  EXPECT_EQ(Run({"verify", "--data", folder_.path()}).status, 0);
  EXPECT_EQ(Run({"verify", "--data", folder_.path(), "piqa"}).status, 3);  // asked for by name
  EXPECT_EQ(Run({"verify", "--data", folder_ / "nowhere"}).status, 3);
  const Outcome unknown = Run({"verify", "--data", folder_.path(), "pica"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean piqa"));
}

TEST_F(DataVerbTest, APartOfAPublishedFileIsNoWholeOne) {
  const std::filesystem::path shared = std::filesystem::path(NATSL_SOURCE_DIR) / "../shared/data";
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << shared << " is not here";
  // The files there are parts of the published ones: none may pass as the whole.
  const Outcome outcome = Run({"verify", "--data", shared, "wikitext"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, HasSubstr("1008911 bytes, expected 1290590"));
}

TEST_F(DataVerbTest, PathNamesFilesOfTheFolderAndOfAHubCache) {
  Write("piqa/valid.jsonl", "{}\n");
  Write("datasets--baber--piqa/snapshots/r/plain_text/validation-0.parquet", "x");
  const Outcome outcome = Run({"path", "piqa", "--data", folder_.path()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            (folder_ / "piqa/valid.jsonl") + "\n" +
                (folder_ / "datasets--baber--piqa/snapshots/r/plain_text/validation-0.parquet") +
                "\n");
  // Without a folder a user's own cache is looked in.
  ::setenv("HF_HUB_CACHE", folder_.path().c_str(), 1);
  const Outcome cache = Run({"path", "piqa"});
  ::unsetenv("HF_HUB_CACHE");
  EXPECT_EQ(cache.status, 0);
  EXPECT_EQ(cache.out,
            (folder_ / "datasets--baber--piqa/snapshots/r/plain_text/validation-0.parquet") + "\n");
  EXPECT_EQ(Run({"path", "hellaswag", "--data", folder_ / "piqa"}).status, 3);
}

TEST_F(DataVerbTest, ListNamesHomeAndLicence) {
  const Outcome outcome = RunProgram({"list", "datasets"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* part : {"hotpotqa", "pg19", "narrativeqa", "codeparrot", "longbench", "swde",
                           "https://yonatanbisk.com/piqa", "Academic Free License 3.0"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

}  // namespace
}  // namespace natsl::cli
