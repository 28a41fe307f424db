// A disk that fills up: a clear error, nothing lost, and the run goes on once there is room. Needs
// the right to mount a small file system; skipped without.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tests/cli/program.h"

namespace natsl::cli {
namespace {

namespace fs = std::filesystem;

/// A file system in memory of a given size.
class SmallDisk {
 public:
  SmallDisk(const fs::path& place, const std::string& size) : place_(place) {
    fs::create_directories(place);
    mounted_ = ::mount("tmpfs", place.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    if (!mounted_) reason_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  bool Resize(const std::string& size) {
    return ::mount("tmpfs", place_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }
  bool mounted() const { return mounted_; }
  const std::string& reason() const { return reason_; }

 private:
  fs::path place_;
  bool mounted_ = false;
  std::string reason_;
};

TEST(DiskFull, IsSaidClearlyAndLosesNothing) {
  TestFolder folder;
  SmallDisk disk(folder.path() / "disk", "128k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a small file system: " << disk.reason();
  WritePiqa(folder.path() / "data", 400);
  WriteScript(folder / "script.jsonl", "piqa", folder / "data", R"({"batch_requests": 16})");
  const auto arguments = [&](const std::string& output) {
    return std::vector<std::string>{
        "run",           "--model",  "scripted:" + (folder / "script.jsonl"),
        "--tasks",       "piqa",     "--data",
        folder / "data", "--output", output,
        "--quiet"};
  };
  ASSERT_EQ(RunProgram(arguments(folder / "whole")).status, 0);
  // Room for the journal's beginning; then for the journal, not for the samples; then for all.
  int failures = 0;
  for (const char* size : {"128k", "160k", "256k", "64m"}) {
    ASSERT_TRUE(disk.Resize(size));
    const Outcome outcome = RunProgram(arguments(folder / "disk/out"));
    if (outcome.status == 0) {
      EXPECT_STREQ(size, "64m");
      break;
    }
    ++failures;
    EXPECT_EQ(outcome.status, 5) << outcome.err;
    EXPECT_TRUE(outcome.err.find("free space") != std::string::npos ||
                outcome.err.find("No space left") != std::string::npos)
        << outcome.err;
    EXPECT_FALSE(fs::exists(folder / "disk/out/results.json"));
  }
  EXPECT_GE(failures, 2);
  for (const char* file : {"results.json", "report.md", "report.html", "samples_piqa.jsonl"}) {
    EXPECT_EQ(ReadText(folder.path() / "whole" / file), ReadText(folder.path() / "disk/out" / file))
        << file;
  }
}

}  // namespace
}  // namespace natsl::cli
