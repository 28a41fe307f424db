// A journal that comes from elsewhere: nothing in it runs, and what isn't one is a data error.
#include "evaluators/journal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "tests/process_folder.h"

namespace natsl::evaluators {
namespace {

class ForeignJournalTest : public ::testing::Test {
 protected:
  ForeignJournalTest() : folder_(tests::ProcessFolder() / "natsl_journal_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ForeignJournalTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(ForeignJournalTest, ItsTriggersDoNotFire) {
  {
    Journal journal(folder_);
    journal.SetNote("kept", "text");
  }
  {
    Database database(folder_ / Journal::kFileName);
    database.Execute("CREATE TRIGGER evil AFTER INSERT ON answers BEGIN DELETE FROM notes; END");
  }
  Journal journal(folder_);
  journal.Append(RequestKind::kLoglikelihood, {{0, "x"}});
  EXPECT_EQ(journal.Count(), 1);
  EXPECT_EQ(journal.Note("kept"), "text");
}

TEST_F(ForeignJournalTest, AViewInATablesPlaceIsAnError) {
  {
    Database database(folder_ / Journal::kFileName);
    database.Execute(
        "CREATE VIEW notes AS SELECT 'identity.run' AS name, load_extension('evil') AS text");
  }
  try {
    Journal(folder_).Note("identity.run");
    FAIL() << "it was read";
  } catch (const Error&) {
  }
}

TEST_F(ForeignJournalTest, AnIdentityThatIsNoneIsADataError) {
  Journal journal(folder_);
  for (const char* text : {R"({"dtype": 5})", R"([1])", "{", "\xFF"}) {
    journal.SetNote("identity.run", text);
    try {
      journal.ReadIdentity("run");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData) << text;
    }
  }
}

}  // namespace
}  // namespace natsl::evaluators
