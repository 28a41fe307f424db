// Members of archives that are well meant and of others.
#include "fetch/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fetch/support.h"

namespace natsl::fetch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Entry {
  std::string name, content;
  char kind = 'f';  ///< f: file, s: symbolic link to `content`, h: hard link to it, d: folder
};

/// `format`: "zip", "tar.gz" or "tar".
void Make(const std::filesystem::path& file, const std::string& format,
          const std::vector<Entry>& entries) {
  archive* out = archive_write_new();
  if (format == "zip") {
    archive_write_set_format_zip(out);
  } else {
    archive_write_set_format_pax_restricted(out);
    if (format == "tar.gz") archive_write_add_filter_gzip(out);
  }
  ASSERT_EQ(archive_write_open_filename(out, file.c_str()), ARCHIVE_OK);
  for (const Entry& entry : entries) {
    archive_entry* head = archive_entry_new();
    archive_entry_set_pathname(head, entry.name.c_str());
    archive_entry_set_perm(head, 0644);
    archive_entry_set_filetype(head, entry.kind == 's'   ? AE_IFLNK
                                     : entry.kind == 'd' ? AE_IFDIR
                                                         : AE_IFREG);
    if (entry.kind == 's') archive_entry_set_symlink(head, entry.content.c_str());
    if (entry.kind == 'h') archive_entry_set_hardlink(head, entry.content.c_str());
    const bool has_data = entry.kind == 'f';
    archive_entry_set_size(head, has_data ? static_cast<la_int64_t>(entry.content.size()) : 0);
    EXPECT_EQ(archive_write_header(out, head), ARCHIVE_OK) << archive_error_string(out);
    if (has_data) archive_write_data(out, entry.content.data(), entry.content.size());
    archive_entry_free(head);
  }
  archive_write_close(out);
  archive_write_free(out);
}

class ArchiveFolder {
 protected:
  std::filesystem::path archive() const { return folder_.path() / "archive"; }
  WantedMember Want(const std::string& member, const std::string& target,
                    std::optional<int64_t> bytes = std::nullopt) const {
    return {member, folder_.path() / target, bytes};
  }
  /// What went wrong; "" where nothing did.
  std::string Extract(const std::vector<WantedMember>& members,
                      const ArchiveLimits& limits = ArchiveLimits::Default()) {
    DiskSpace disk(folder_.path());
    try {
      ExtractMembers(
          archive(), members, disk, [] { return false; }, limits);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData) << error.what();
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};
class ArchiveTest : public ArchiveFolder, public ::testing::TestWithParam<const char*> {};
class AnyArchiveTest : public ArchiveFolder, public ::testing::Test {};

TEST_P(ArchiveTest, TakesMembersByName) {
  const std::string large = Text(300'000);
  Make(archive(), GetParam(),
       {{"data/", "", 'd'}, {"data/a.txt", "a"}, {"data/b.txt", large}, {"a.txt", "other"}});
  EXPECT_EQ(Extract({Want("data/b.txt", "b"), Want("./data/a.txt", "a", 1)}), "");
  EXPECT_EQ(folder_.Read("a"), "a");
  EXPECT_EQ(folder_.Read("b"), large);
  EXPECT_THAT(folder_.Files("archive"), ElementsAre("a", "b"));
}

TEST_P(ArchiveTest, NamesOfTheArchiveDecideOnNoPath) {
  Make(archive(), GetParam(),
       {{"../outside.txt", "x"}, {"/tmp/natsl_absolute.txt", "x"}, {"a.txt", "a"}});
  EXPECT_EQ(Extract({Want("a.txt", "a")}), "");
  EXPECT_EQ(Extract({Want("../outside.txt", "b")}), "") << "a name like any other";
  EXPECT_EQ(folder_.Read("b"), "x");
  EXPECT_FALSE(std::filesystem::exists(folder_.path().parent_path() / "outside.txt"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/natsl_absolute.txt"));
}

TEST_P(ArchiveTest, OnlyRegularFilesAreTaken) {
  Make(archive(), GetParam(), {{"a.txt", "/etc/passwd", 's'}});
  EXPECT_THAT(Extract({Want("a.txt", "a")}), HasSubstr("\"a.txt\" isn't a regular file"));
  EXPECT_FALSE(folder_.Has("a"));
}

TEST_P(ArchiveTest, ATargetThatIsALinkIsNotFollowed) {
  folder_.Write("victim", "mine");
  std::filesystem::create_symlink(folder_.path() / "victim", folder_.path() / "a");
  Make(archive(), GetParam(), {{"a.txt", "theirs"}});
  DiskSpace disk(folder_.path());
  EXPECT_THROW(ExtractMembers(archive(), {Want("a.txt", "a")}, disk, [] { return false; }), Error);
  EXPECT_EQ(folder_.Read("victim"), "mine");
}

TEST_P(ArchiveTest, MissingAndOtherSizes) {
  Make(archive(), GetParam(), {{"a.txt", "a"}});
  EXPECT_THAT(Extract({Want("b.txt", "b")}), HasSubstr("has no \"b.txt\" among its 1 entries"));
  EXPECT_THAT(Extract({Want("a.txt", "a", 2)}), HasSubstr("\"a.txt\" has 1 bytes, expected 2"));
}

TEST_P(ArchiveTest, BombsAreRefused) {
  const std::string zeros(4'000'000, '\0');
  Make(archive(), GetParam(), {{"zeros", zeros}, {"a.txt", "a"}});
  const ArchiveLimits limits{100, 2, 1'000'000};
  EXPECT_THAT(Extract({Want("zeros", "z")}, limits), HasSubstr("unpacks to more than"));
  // What is skipped counts too.
  EXPECT_THAT(Extract({Want("a.txt", "a")}, limits), HasSubstr("unpacks to more than"));
  EXPECT_EQ(Extract({Want("a.txt", "a")}), "");
}

TEST_P(ArchiveTest, ManyEntriesAreRefused) {
  std::vector<Entry> entries;
  for (int i = 0; i < 50; ++i) entries.push_back({fmt::format("{}", i), "x"});
  Make(archive(), GetParam(), entries);
  EXPECT_THAT(Extract({Want("49", "a")}, {49, 100, 1'000'000}), HasSubstr("more than 49 entries"));
  EXPECT_EQ(Extract({Want("49", "a")}, {50, 100, 1'000'000}), "");
}

TEST_P(ArchiveTest, CutArchivesAreDamaged) {
  Make(archive(), GetParam(), {{"a.txt", Text(100'000)}, {"b.txt", Text(100'000, "other")}});
  const std::string whole = folder_.Read("archive");
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() / 2, whole.size() * 3 / 4}) {
    folder_.Write("archive", whole.substr(0, size));
    EXPECT_NE(Extract({Want("b.txt", "b")}), "") << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ArchiveTest, ::testing::Values("zip", "tar.gz"),
                         [](const auto& info) {
                           return std::string(info.param) == "zip" ? "Zip" : "TarGz";
                         });

TEST_F(AnyArchiveTest, OtherFilesAreNoArchive) {
  folder_.Write("archive", "{\"text\": 1}\n");
  EXPECT_THAT(Extract({Want("a", "a")}), HasSubstr("not a whole zip or tar archive"));
  std::filesystem::remove(archive());
  EXPECT_THAT(Extract({Want("a", "a")}), HasSubstr("archive"));
}

TEST_F(AnyArchiveTest, AFullDiskIsTold) {
  Make(archive(), "zip", {{"a.txt", Text(100'000)}});
  DiskSpace disk(folder_.path(), [] { return int64_t{64 << 20} + 5; });
  try {
    ExtractMembers(archive(), {Want("a.txt", "a")}, disk, [] { return false; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("100000 bytes are needed"));
  }
}

// Through a fetch: one download for all its members.

TEST_F(AnyArchiveTest, AFetchUnpacksAllMembersOfOneDownload) {
  for (const std::string format : {"zip", "tar.gz"}) {
    Make(archive(), format, {{"set/a.txt", Text(50'000)}, {"set/b.txt", "b"}, {"set/c.txt", "c"}});
    const std::string bytes = folder_.Read("archive");
    FileServer server;
    server.On("/set." + format, [&](const SeenRequest& r, int before) {
      return before == 0 ? Cut(r, bytes, bytes.size() / 2) : Serve(r, bytes);
    });
    tasks::Manifest toy = Toy(server.url(), {"a.txt", "b.txt"});
    for (tasks::ManifestFile& file : toy.files) {
      file.sources[0] = {server.url() + "/set." + format, "",
                         "set/" + std::filesystem::path(file.path).filename().string()};
    }
    for (const FetchResult& result : Fetch(toy, Options(folder_))) {
      EXPECT_EQ(result.state, FetchState::kFetched) << result.detail;
    }
    EXPECT_EQ(server.seen().size(), 2U);
    EXPECT_THAT(folder_.Files("archive"),
                ElementsAre("data/data.lock", "data/toy/a.txt", "data/toy/b.txt"));
    EXPECT_EQ(folder_.Read("data/toy/b.txt"), "b");
    std::filesystem::remove_all(folder_.path() / "data");
  }
}

TEST_F(AnyArchiveTest, OneWrongMemberDoesNotHoldTheOthersBack) {
  Make(archive(), "zip", {{"a.txt", "a"}, {"b.txt", "b"}});
  const std::string bytes = folder_.Read("archive");
  FileServer server;
  server.On("/x.zip", [&](const SeenRequest& r, int) { return Serve(r, bytes); });
  tasks::Manifest toy = Toy(server.url(), {"a.txt", "b.txt"});
  toy.files[0].sha256 = std::string(64, '0');
  for (tasks::ManifestFile& file : toy.files) {
    file.sources[0] = {server.url() + "/x.zip", "",
                       std::filesystem::path(file.path).filename().string()};
  }
  const std::vector<FetchResult> results = Fetch(toy, Options(folder_));
  EXPECT_EQ(results[0].state, FetchState::kFailed);
  EXPECT_THAT(results[0].detail, HasSubstr(std::string(64, '0')));
  EXPECT_EQ(results[1].state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/b.txt"), "b");
  EXPECT_FALSE(folder_.Has("data/toy/a.txt"));
}

}  // namespace
}  // namespace natsl::fetch
