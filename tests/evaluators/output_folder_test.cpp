// One process at a time, no traces of a run that failed at once, no silent overwriting.
#include "evaluators/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "evaluators/journal.h"
#include "tests/process_folder.h"

namespace natsl::evaluators {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = tests::ProcessFolder() / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Touch(const std::string& name) { std::ofstream(root_ / name) << "x"; }
  fs::path root_;
};

TEST_F(OutputFolderTest, LeavesNothingWhereNothingWasWritten) {
  { const OutputFolder folder(root_ / "a" / "b", false); }
  EXPECT_FALSE(fs::exists(root_ / "a"));
  EXPECT_TRUE(fs::exists(root_));
}

TEST_F(OutputFolderTest, AJournalGoesOnlyWhereItHoldsNoAnswer) {
  const fs::path path = root_ / "run";
  {
    const OutputFolder folder(path, false);
    Journal(path).SetNote("arguments", "[]");
    ASSERT_TRUE(folder.has_journal());
    folder.RemoveEmptyJournal();
  }
  EXPECT_FALSE(fs::exists(path));
  {
    const OutputFolder folder(path, false);
    Journal(path).Append(RequestKind::kLoglikelihood, {{0, "answer"}});
    folder.RemoveEmptyJournal();
  }
  EXPECT_EQ(Journal(path).Count(), 1);
  std::ofstream(path / Journal::kFileName, std::ios::trunc) << "not a database, but the user's";
  const OutputFolder folder(path, false);
  folder.RemoveEmptyJournal();
  EXPECT_TRUE(folder.has_journal());
}

TEST_F(OutputFolderTest, KeepsWhatWasThere) {
  Touch("mine.txt");
  { const OutputFolder folder(root_, false); }
  EXPECT_TRUE(fs::exists(root_ / "mine.txt"));
  EXPECT_FALSE(fs::exists(root_ / "journal.lock"));
}

TEST_F(OutputFolderTest, SecondHolderIsRefused) {
  const OutputFolder folder(root_, false);
  try {
    const OutputFolder second(root_, false);
    FAIL() << "the second holder got the folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("another run"), std::string::npos);
  }
}

TEST_F(OutputFolderTest, ResultsOfAnotherRunAreRefusedOrRemoved) {
  Touch("results.json");
  Touch("samples_piqa.jsonl");
  Touch("mine.txt");
  EXPECT_THROW(OutputFolder(root_, false), Error);
  const OutputFolder folder(root_, true);
  EXPECT_FALSE(fs::exists(root_ / "results.json"));
  EXPECT_FALSE(fs::exists(root_ / "samples_piqa.jsonl"));
  EXPECT_TRUE(fs::exists(root_ / "mine.txt"));
}

TEST_F(OutputFolderTest, JournalMakesItOurs) {
  {
    const OutputFolder folder(root_ / "run", false);
    Journal journal(root_ / "run");
  }
  Touch("run/results.json");
  const OutputFolder folder(root_ / "run", false);
  EXPECT_TRUE(folder.has_journal());
}

TEST_F(OutputFolderTest, HalfWrittenFilesOfAKilledRunAreRemoved) {
  Touch("results.json.77.tmp");
  Touch("samples_piqa.jsonl.77.tmp");
  Touch("mine.tmp");
  const OutputFolder folder(root_, false);
  EXPECT_FALSE(fs::exists(root_ / "results.json.77.tmp"));
  EXPECT_FALSE(fs::exists(root_ / "samples_piqa.jsonl.77.tmp"));
  EXPECT_TRUE(fs::exists(root_ / "mine.tmp"));
}

TEST_F(OutputFolderTest, PathBelowAFileIsRefused) {
  Touch("file");
  EXPECT_THROW(OutputFolder(root_ / "file" / "out", false), Error);
}

}  // namespace
}  // namespace natsl::evaluators
