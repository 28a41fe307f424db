// Files whose hash nobody knows: locked at the first fetch, compared at every later one.
#include "tasks/data/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/hash.h"
#include "tests/fetch/support.h"

namespace natsl::fetch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class LockTest : public ::testing::Test {
 protected:
  void Publish(const std::string& content) {
    server_.On("/a.txt", [content](const SeenRequest& r, int) { return Serve(r, content); });
  }
  FetchResult One(const FetchOptions& options) {
    return Fetch(Toy(server_.url()), options).front();
  }
  FetchResult One() { return One(Options(folder_)); }
  tasks::DataLock Lock() const { return tasks::DataLock::Read(folder_.path() / "data/data.lock"); }
  void Remove() { std::filesystem::remove(folder_.path() / "data/toy/a.txt"); }

  TemporaryFolder folder_;
  FileServer server_;
};

TEST_F(LockTest, TheFirstFetchLocks) {
  Publish("first");
  EXPECT_EQ(One().state, FetchState::kFetched);
  ASSERT_EQ(Lock().files().size(), 1U);
  const tasks::LockedFile file = Lock().files()[0];
  EXPECT_EQ(file.name, "toy");
  EXPECT_EQ(file.file, "toy/a.txt");
  EXPECT_EQ(file.bytes, 5);
  EXPECT_EQ(file.sha256, core::Sha256Hex("first"));
  EXPECT_EQ(file.url, server_.url() + "/a.txt");
  EXPECT_EQ(file.date.size(), 10U);
  EXPECT_EQ(One().state, FetchState::kPresent);
}

TEST_F(LockTest, ALaterDifferenceIsAnErrorWithBothHashes) {
  Publish("first");
  One();
  Remove();
  Publish("second");
  const FetchResult result = One();
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr(core::Sha256Hex("first")));
  EXPECT_THAT(result.detail, HasSubstr(core::Sha256Hex("second")));
  EXPECT_THAT(result.detail, HasSubstr("--relock"));
  EXPECT_THAT(folder_.Files(), IsEmpty());
  EXPECT_EQ(Lock().files()[0].sha256, core::Sha256Hex("first"));
  Publish("first");
  EXPECT_EQ(One().state, FetchState::kFetched);
}

TEST_F(LockTest, RelockTakesWhatIsPublishedNow) {
  Publish("first");
  One();
  Publish("second");
  FetchOptions options = Options(folder_);
  options.relock = true;
  EXPECT_EQ(One(options).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), "second");
  EXPECT_EQ(Lock().files()[0].sha256, core::Sha256Hex("second"));
}

TEST_F(LockTest, AFileThatChangedHereIsFound) {
  Publish("first");
  One();
  folder_.Write("data/toy/a.txt", "edited");
  const FetchResult result = One();
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr("locked on"));
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), "edited");
}

TEST_F(LockTest, AFileThatWasThereBeforeIsLeftAlone) {
  Publish("first");
  folder_.Write("data/toy/a.txt", "mine");
  EXPECT_EQ(One().state, FetchState::kPresent);
  EXPECT_THAT(Lock().files(), IsEmpty()) << "it wasn't fetched";
  EXPECT_THAT(server_.seen(), IsEmpty());
}

TEST_F(LockTest, TheLockMayBeElsewhere) {
  Publish("first");
  FetchOptions options = Options(folder_);
  options.lock = folder_.path() / "shared.lock";
  One(options);
  EXPECT_FALSE(folder_.Has("data/data.lock"));
  EXPECT_EQ(tasks::DataLock::Read(options.lock).files().size(), 1U);
}

TEST_F(LockTest, ADamagedLockStopsTheFetch) {
  Publish("first");
  folder_.Write("data/data.lock", "{");
  EXPECT_THROW(One(), Error);
  EXPECT_THAT(server_.seen(), IsEmpty());
}

TEST_F(LockTest, CompressedFilesCountByWhatIsInThem) {
  const std::string packed = Gzip("content\n");
  server_.On("/a.txt.gz", [&](const SeenRequest& r, int) { return Serve(r, packed); });
  tasks::Manifest toy = Toy(server_.url());
  toy.files[0].sources[0].url += ".gz";
  toy.files[0].sha256 = core::Sha256Hex("content\n");
  toy.files[0].bytes = 8;
  EXPECT_EQ(Fetch(toy, Options(folder_))[0].state, FetchState::kFetched);
  EXPECT_THAT(folder_.Files(), ElementsAre("data/toy/a.txt.gz"));
  EXPECT_EQ(Fetch(toy, Options(folder_))[0].state, FetchState::kPresent);
}

TEST_F(LockTest, WhatHasNoAddressSaysWhereItIsPublished) {
  tasks::Manifest toy = Toy(server_.url());
  toy.files[0].sources.clear();
  const FetchResult result = Fetch(toy, Options(folder_))[0];
  EXPECT_EQ(result.state, FetchState::kNoSource);
  EXPECT_THAT(result.detail, HasSubstr("https://example.org/toy"));
}

}  // namespace
}  // namespace natsl::fetch
