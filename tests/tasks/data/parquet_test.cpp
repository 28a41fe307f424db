// Parquet records: every supported type, a task read from a hub cache, and what is refused.
#include "tasks/data/parquet.h"

#include <gtest/gtest.h>

#include "tests/tasks/golden_support.h"

namespace natsl::tasks {
namespace {

const std::filesystem::path kFixtures =
    std::filesystem::path(NATSL_SOURCE_DIR) / "tests" / "fixtures" / "data";

std::string ErrorOf(const std::filesystem::path& file) {
  try {
    DataSource(file.parent_path()).Read(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    return error.what();
  }
  return "accepted";
}

TEST(ParquetTest, WithoutTheReaderSaysHowToGetIt) {
  if (HasParquet()) GTEST_SKIP() << "this build has the Parquet reader";
  EXPECT_EQ(
      ErrorOf(kFixtures / "questions.parquet"),
      "questions.parquet: this build has no Parquet reader; run scripts/setup, which fetches it "
      "(elsewhere: cmake -DNATSL_ARROW=DIR with PyPI's pyarrow in DIR), or give the dataset as "
      "JSONL");
}

TEST(ParquetTest, RowsOfAllTypes) {
  if (!HasParquet()) GTEST_SKIP() << "this build has no Parquet reader (NATSL_ARROW)";
  const RecordSet set = DataSource(kFixtures).Read(kFixtures / "questions.parquet");
  ASSERT_EQ(set.records.size(), 3U);
  EXPECT_EQ(
      set.records[0].value->dump(),
      R"({"id":"q1","question":"Which is hot?","choices":{"text":["ice","fire"],"label":["A","B"]},"answerKey":"B","count":1,"small":1,"score":0.5,"flag":true,"nothing":null})");
  EXPECT_EQ(
      set.records[1].value->dump(),
      R"({"id":"q2","question":"Où est l'été?","choices":{"text":["ici","là","nulle part"],"label":["1","2","3"]},"answerKey":"2","count":null,"small":2,"score":null,"flag":false,"nothing":null})");
  EXPECT_EQ(set.records[2].value->at("small"), 255);
  EXPECT_EQ(set.records[2].value->at("count"), -3);
  EXPECT_EQ(set.records[2].where, "questions.parquet: row 2");
}

TEST(ParquetTest, TaskFromAHubCache) {
  if (!HasParquet()) GTEST_SKIP() << "this build has no Parquet reader (NATSL_ARROW)";
  testing::TemporaryFolder folder;
  const auto snapshot = folder.path() / "datasets--allenai--ai2_arc/snapshots/r/ARC-Easy";
  std::filesystem::create_directories(snapshot);
  std::filesystem::copy(kFixtures / "questions.parquet", snapshot / "test-00000-of-00001.parquet");
  const auto task = FindTask("arc_easy").load(DataSource(folder.path()), {});
  ASSERT_EQ(task->DocumentCount(), 3);
  const DocumentRequests document = task->Requests(1);
  ASSERT_EQ(document.requests.size(), 3U);
  EXPECT_EQ(document.id, "q2");
  EXPECT_EQ(document.target, "1");
  const auto& pair = std::get<LoglikelihoodRequest>(document.requests[2]);
  EXPECT_EQ(pair.context, "Question: Où est l'été?\nAnswer:");
  EXPECT_EQ(pair.continuation, " nulle part");
}

TEST(ParquetTest, Refused) {
  if (!HasParquet()) GTEST_SKIP() << "this build has no Parquet reader (NATSL_ARROW)";
  testing::TemporaryFolder folder;
  folder.Write("bad.parquet", "not parquet at all");
  EXPECT_TRUE(ErrorOf(folder.path() / "bad.parquet")
                  .starts_with("bad.parquet: not a readable Parquet file: "));
  EXPECT_TRUE(ErrorOf(kFixtures / "timestamp.parquet")
                  .starts_with("timestamp.parquet: the column \"when\" is of type timestamp["))
      << ErrorOf(kFixtures / "timestamp.parquet");
}

}  // namespace
}  // namespace natsl::tasks
