// The hub: its listing, its redirects, its token and its cache.
#include "fetch/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/hash.h"
#include "core/json.h"
#include "fetch/job.h"
#include "tasks/data_source.h"
#include "tests/fetch/support.h"

namespace natsl::fetch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kCommit(40, 'c');

TEST(HubTest, Addresses) {
  EXPECT_EQ(ListingUrl("https://h", "org/name", "main"),
            "https://h/api/datasets/org/name/revision/main?blobs=true");
  EXPECT_EQ(ResolveUrl("https://h", "org/name", "refs/pr/1", "a b/\xC3\xA9?#.txt"),
            "https://h/datasets/org/name/resolve/refs/pr/1/a%20b/%C3%A9%3F%23.txt");
  EXPECT_EQ(RevisionOf("https://h/datasets/o/n/resolve/abc/x/y"), "abc");
  EXPECT_EQ(RevisionOf("https://h/x"), "");
  EXPECT_EQ(CacheFolderName("org/name"), "datasets--org--name");
}

TEST(HubTest, GitsIdOfAFile) {
  const TemporaryFolder folder;
  folder.Write("a", "hello\n");
  EXPECT_EQ(GitBlobId(folder.path() / "a"), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(HubTest, ListingsThatLeaveTheRepositoryAreRefused) {
  const auto message = [](const std::string& sibling) -> std::string {
    try {
      ParseHubListing(fmt::format(R"({{"sha": "{}", "siblings": [{}]}})", kCommit, sibling), "hub");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string id(40, 'a');
  EXPECT_EQ(message(R"({"rfilename": "a/b", "size": 1, "blobId": ")" + id + "\"}"), "");
  EXPECT_THAT(message(R"({"rfilename": "../b", "size": 1, "blobId": ")" + id + "\"}"),
              HasSubstr("expected a path in the repository"));
  EXPECT_THAT(message(R"({"rfilename": "b", "size": 1, "blobId": "../../x"})"),
              HasSubstr("40 lower-case hex digits"));
  EXPECT_THAT(message(R"({"rfilename": "b", "blobId": ")" + id + "\"}"), HasSubstr("\"size\""));
}

TEST(HubTest, TokensComeFromTheUsualPlaces) {
  const TemporaryFolder folder;
  folder.Write("home/token", "from_home\n");
  folder.Write("token", " from_file \n");
  folder.Write("bad", "a\nb");
  ::unsetenv("HF_TOKEN");
  ::unsetenv("HF_TOKEN_PATH");
  ::setenv("HF_HOME", (folder.path() / "home").c_str(), 1);
  EXPECT_EQ(ReadHubToken(""), "from_home");
  ::setenv("HF_TOKEN", "from_variable", 1);
  EXPECT_EQ(ReadHubToken(""), "from_variable");
  EXPECT_EQ(ReadHubToken(folder.path() / "token"), "from_file");
  EXPECT_THROW(ReadHubToken(folder.path() / "none"), Error);
  try {
    ReadHubToken(folder.path() / "bad");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("a\nb")));
  }
  ::unsetenv("HF_TOKEN");
  ::unsetenv("HF_HOME");
}

TEST(HubTest, PartsOfASetMustAllBeThere) {
  EXPECT_TRUE(IsComplete({"x/a.parquet"}));
  EXPECT_TRUE(IsComplete({"x/a-00000-of-00002.parquet", "x/a-00001-of-00002.parquet"}));
  EXPECT_FALSE(IsComplete({"x/a-00000-of-00002.parquet"}));
  EXPECT_TRUE(IsComplete({}));
}

/// A hub of one dataset, org/toy, whose large files come from another host.
class HubFetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HF_HOME", "HF_HUB_CACHE", "HF_TOKEN"}) ::unsetenv(name);
    ::setenv("HOME", (folder_.path() / "nobody").c_str(), 1);
    Publish(kCommit, large_);
    toy_ = Toy("http://unused");
    toy_.hub = "org/toy";
    toy_.hub_files = {"data/test-*|test-*", "README.md"};
  }
  void Publish(const std::string& commit, const std::string& large) {
    core::Json listing;
    listing["sha"] = commit;
    listing["siblings"] = core::Json::array();
    listing["siblings"].push_back({{"rfilename", "README.md"},
                                   {"size", 6},
                                   {"blobId", "ce013625030ba8dba906f756967f9e9ca394464a"}});
    listing["siblings"].push_back(
        {{"rfilename", "data/test-00000-of-00001.jsonl"},
         {"size", 10},
         {"blobId", std::string(40, 'e')},
         {"lfs", {{"sha256", core::Sha256Hex(large)}, {"size", large.size()}}}});
    listing["siblings"].push_back(
        {{"rfilename", "data/train.jsonl"}, {"size", 1}, {"blobId", std::string(40, 'f')}});
    const auto list = [text = listing.dump()](const SeenRequest&, int) { return Reply(200, text); };
    hub_.On("/api/datasets/org/toy/revision/main?blobs=true", list);
    hub_.On("/api/datasets/org/toy/revision/" + commit + "?blobs=true", list);
    const std::string resolve = "/datasets/org/toy/resolve/" + commit;
    hub_.On(resolve + "/README.md", [](const SeenRequest& r, int) { return Serve(r, "hello\n"); });
    hub_.On(resolve + "/data/test-00000-of-00001.jsonl", [this](const SeenRequest&, int) {
      return Redirect(store_.url() + "/blob?signature=secret");
    });
    store_.On("/blob?signature=secret",
              [large](const SeenRequest& r, int) { return Serve(r, large, "\"blob\""); });
  }
  FetchOptions HubOptions() const {
    FetchOptions options = Options(folder_);
    options.hub = hub_.url();
    options.token = "hf_token";
    options.from = FetchFrom::kHub;
    return options;
  }
  std::string Entry(const std::string& rest) const { return "data/datasets--org--toy/" + rest; }
  std::string Snapshot(const std::string& rest) const {
    return Entry("snapshots/" + kCommit + "/" + rest);
  }

  TemporaryFolder folder_;
  FileServer hub_, store_;
  tasks::Manifest toy_;
  const std::string large_ = "{\"text\": \"" + std::string(5000, 'x') + "\"}\n";
};

TEST_F(HubFetchTest, FilesLandInTheCachesLayout) {
  for (const FetchResult& result : Fetch(toy_, HubOptions())) {
    EXPECT_EQ(result.state, FetchState::kFetched) << result.detail;
  }
  EXPECT_EQ(folder_.Read(Snapshot("data/test-00000-of-00001.jsonl")), large_);
  EXPECT_EQ(folder_.Read(Snapshot("README.md")), "hello\n");
  EXPECT_EQ(folder_.Read(Entry("refs/main")), kCommit);
  EXPECT_EQ(
      std::filesystem::read_symlink(folder_.path() / Snapshot("data/test-00000-of-00001.jsonl")),
      "../../../blobs/" + core::Sha256Hex(large_));
  EXPECT_FALSE(folder_.Has(Snapshot("data/train.jsonl"))) << "nobody wants it";
  // Tasks read it there.
  const tasks::DataSource source(folder_.path() / "data");
  EXPECT_EQ(source.Read(source.Require("toy", {"hub:org/toy:data/test-*"})).records.size(), 1U);
  // Again: nothing to do, nobody asked.
  const size_t before = hub_.seen().size();
  for (const FetchResult& result : Fetch(toy_, HubOptions())) {
    EXPECT_EQ(result.state, FetchState::kPresent);
  }
  EXPECT_EQ(hub_.seen().size(), before);
}

TEST_F(HubFetchTest, TheTokenGoesToTheHubAlone) {
  std::string said;
  Fetch(toy_, HubOptions(), &said);
  for (const SeenRequest& request : hub_.seen()) {
    EXPECT_EQ(request.headers.at("authorization"), "Bearer hf_token") << request.path;
  }
  ASSERT_EQ(store_.seen().size(), 1U);
  EXPECT_FALSE(store_.seen()[0].headers.contains("authorization"));
  EXPECT_THAT(said, Not(HasSubstr("hf_token")));
  EXPECT_THAT(folder_.Read("data/data.lock"), Not(HasSubstr("hf_token")));
  EXPECT_THAT(folder_.Read("data/data.lock"), Not(HasSubstr("signature")));
}

TEST_F(HubFetchTest, NeitherTokenNorSignatureStandInMessages) {
  store_.On("/blob?signature=secret",
            [](const SeenRequest&, int) { return Reply(500, "your token is hf_token"); });
  std::string said;
  const std::vector<FetchResult> results = Fetch(toy_, HubOptions(), &said);
  for (const FetchResult& result : results) said += result.detail;
  EXPECT_THAT(said, HasSubstr("HTTP 500"));
  EXPECT_THAT(said, Not(HasSubstr("hf_token")));
  EXPECT_THAT(said, Not(HasSubstr("secret")));
}

TEST_F(HubFetchTest, AMirrorGetsNoToken) {
  FileServer mirror;
  FetchOptions options = HubOptions();
  options.mirrors = {{hub_.url() + "/", mirror.url() + "/"}};
  Fetch(toy_, options);
  EXPECT_THAT(mirror.seen(), Not(IsEmpty()));
  for (const SeenRequest& request : mirror.seen()) {
    EXPECT_FALSE(request.headers.contains("authorization"));
  }
}

TEST_F(HubFetchTest, WhatNeedsATokenSaysSo) {
  hub_.On("/api/datasets/org/toy/revision/main?blobs=true",
          [](const SeenRequest&, int) { return Reply(401, ""); });
  const std::vector<FetchResult> results = Fetch(toy_, HubOptions());
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].state, FetchState::kFailed);
  EXPECT_THAT(results[0].detail, HasSubstr("HTTP 401"));
  EXPECT_THAT(results[0].detail, HasSubstr("HF_TOKEN"));
  EXPECT_EQ(hub_.seen().size(), 1U);
}

TEST_F(HubFetchTest, BytesThatAreNotTheBlobsAreTurnedAway) {
  store_.On("/blob?signature=secret",
            [&](const SeenRequest& r, int) { return Serve(r, std::string(large_.size(), 'y')); });
  const std::vector<FetchResult> results = Fetch(toy_, HubOptions());
  EXPECT_EQ(results[0].state, FetchState::kFailed);
  EXPECT_THAT(results[0].detail, HasSubstr(core::Sha256Hex(large_)));
  EXPECT_FALSE(folder_.Has(Snapshot("data/test-00000-of-00001.jsonl")));
}

TEST_F(HubFetchTest, TheHubsOwnCacheIsUsed) {
  const std::string entry = "cache/datasets--org--toy/";
  const std::string blob = core::Sha256Hex(large_);
  folder_.Write(entry + "blobs/" + blob, large_);
  folder_.Write(entry + "snapshots/r/README.md", "hello\n");
  std::filesystem::create_directories(folder_.path() / (entry + "snapshots/r/data"));
  std::filesystem::create_symlink(
      "../../../blobs/" + blob,
      folder_.path() / (entry + "snapshots/r/data/test-00000-of-00001.jsonl"));
  ::setenv("HF_HUB_CACHE", (folder_.path() / "cache").c_str(), 1);
  for (const FetchResult& result : Fetch(toy_, HubOptions())) {
    EXPECT_EQ(result.state, FetchState::kInCache) << result.detail;
  }
  EXPECT_THAT(hub_.seen(), IsEmpty());
  // A blob whose bytes aren't its name's is no file to rely on.
  folder_.Write(entry + "blobs/" + blob, "damaged");
  EXPECT_EQ(Fetch(toy_, HubOptions())[0].state, FetchState::kFetched);
  ::unsetenv("HF_HUB_CACHE");
}

TEST_F(HubFetchTest, ALockedCommitIsFetchedAgainUntilRelocked) {
  Fetch(toy_, HubOptions());
  const std::string next(40, 'd');
  const std::string newer = large_ + "{\"text\": \"more\"}\n";
  Publish(next, newer);  // main moves on; the old commit's address gives new bytes
  std::filesystem::remove_all(folder_.path() / "data/datasets--org--toy");
  store_.On("/blob?signature=secret", [&](const SeenRequest& r, int) { return Serve(r, large_); });
  EXPECT_EQ(Fetch(toy_, HubOptions())[0].state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read(Snapshot("data/test-00000-of-00001.jsonl")), large_);
  store_.On("/blob?signature=secret", [&](const SeenRequest& r, int) { return Serve(r, newer); });
  FetchOptions options = HubOptions();
  options.relock = true;
  EXPECT_EQ(Fetch(toy_, options)[0].state, FetchState::kFetched);
  const tasks::DataLock lock = tasks::DataLock::Read(folder_.path() / "data/data.lock");
  ASSERT_EQ(lock.files().size(), 2U);
  for (const tasks::LockedFile& file : lock.files()) EXPECT_EQ(RevisionOf(file.url), next);
  EXPECT_EQ(folder_.Read(Entry("refs/main")), next);
}

TEST_F(HubFetchTest, APatternWithoutFilesIsAFailure) {
  toy_.hub_files = {"nothing-*"};
  const std::vector<FetchResult> results = Fetch(toy_, HubOptions());
  ASSERT_EQ(results.size(), 1U);
  EXPECT_THAT(results[0].detail, HasSubstr("org/toy has no file nothing-*"));
}

}  // namespace
}  // namespace natsl::fetch
