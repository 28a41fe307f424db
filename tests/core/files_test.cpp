// Files, hashes and host threads.
#include "core/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "core/hash.h"
#include "core/threads.h"

namespace natsl::core {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("natsl-files-test-{}", ::getpid());
};

TEST_F(FilesTest, WritesReplaceWhole) {
  const auto path = folder_ / "a";
  WriteFileAtomic(path, "one");
  WriteFileAtomic(path, "two two");
  EXPECT_EQ(ReadFile(path, ErrorCode::kData), "two two");
  EXPECT_EQ(MappedFile(path, ErrorCode::kData).text(), "two two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// Renaming a file over it would take a device away from everybody.
TEST_F(FilesTest, WhatIsNoFileIsWrittenInto) {
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  WriteFileAtomic(pipe, "through");
  char seen[16] = "";
  EXPECT_EQ(::read(reader, seen, sizeof(seen)), 7);
  EXPECT_STREQ(seen, "through");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  // A shell's "> file" with /dev/stdout or /dev/fd/N as the name: the file goes on.
  const auto file = folder_ / "file";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ASSERT_EQ(::write(fd, "one ", 4), 4);
  std::filesystem::create_symlink(fmt::format("/proc/self/fd/{}", fd), folder_ / "link");
  WriteFileAtomic(folder_ / "link", "two ");
  WriteFileAtomic(fmt::format("/dev/fd/{}", fd), "three");
  ASSERT_EQ(::write(fd, ".", 1), 1);
  ::close(fd);
  EXPECT_EQ(ReadFile(file, ErrorCode::kData), "one two three.");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  // A link to a file of somebody's is replaced, not followed.
  std::filesystem::create_symlink(file, folder_ / "mine");
  WriteFileAtomic(folder_ / "mine", "new");
  EXPECT_EQ(ReadFile(file, ErrorCode::kData), "one two three.");
  EXPECT_EQ(ReadFile(folder_ / "mine", ErrorCode::kData), "new");
}

TEST_F(FilesTest, ErrorsNameThePathAndTheReason) {
  const auto path = folder_ / "none" / "a";
  for (const auto& act : std::initializer_list<std::function<void()>>{
           [&] { ReadFile(path, ErrorCode::kData); }, [&] { WriteFileAtomic(path, ""); },
           [&] { MappedFile(path, ErrorCode::kModel); }}) {
    try {
      act();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(ReadFile(folder_, ErrorCode::kData), Error);
  WriteFileAtomic(folder_ / "b", "12345");
  EXPECT_THROW(ReadFile(folder_ / "b", ErrorCode::kData, 4), Error);
}

TEST(Hash, KnownVectors) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 hash;
  hash.Update("a");
  hash.Update("bc");
  EXPECT_EQ(hash.Hex(), Sha256Hex("abc"));
}

TEST(Threads, EveryIndexOnceAndTheFirstFailureWins) {
  std::vector<std::atomic<int>> seen(1000);
  ParallelFor(1000, 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  try {
    ParallelFor(1000, 3, [](int64_t begin, int64_t) { throw InternalError("range {}", begin); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "range 0");
  }
}

}  // namespace
}  // namespace natsl::core
