// A database that can't grow: what was committed stays, and the error says what to do.
#include "evaluators/database.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "tests/process_folder.h"

namespace natsl::evaluators {
namespace {

TEST(Database, FullIsAnErrorThatKeepsWhatWasCommitted) {
  const auto file = tests::ProcessFolder() / "full.sqlite";
  std::filesystem::remove(file);
  int64_t committed = 0;
  {
    Database database(file);
    database.Execute("PRAGMA max_page_count=20; CREATE TABLE answers (answer BLOB NOT NULL)");
    try {
      for (; committed < 100; ++committed) {
        Transaction transaction(database);
        Statement insert = database.Prepare("INSERT INTO answers VALUES (?)");
        insert.BindBlob(1, std::string(3000, 'x')).Step();
        transaction.Commit();
      }
      FAIL() << "it took everything";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      EXPECT_NE(std::string(error.what()).find("full (what was finished is kept: free space"),
                std::string::npos)
          << error.what();
    }
    EXPECT_GT(committed, 5);
  }
  Database database(file);
  Statement count = database.Prepare("SELECT count(*) FROM answers");
  ASSERT_TRUE(count.Step());
  EXPECT_EQ(count.Int(0), committed);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace natsl::evaluators
