// Room on a disk, shared by downloads that run at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>

namespace natsl::fetch {

class DiskSpace {
 public:
  /// `free_bytes` tells what is free in `folder`'s file system; empty: the system does.
  explicit DiskSpace(std::filesystem::path folder, std::function<int64_t()> free_bytes = {});

  /// Sets `bytes` aside. Throws Error (internal) where they aren't free: how many are needed and
  /// how many there are.
  void Claim(int64_t bytes);
  /// Bytes that were claimed and are written now, or won't be.
  void Release(int64_t bytes);

 private:
  std::filesystem::path folder_;
  std::function<int64_t()> free_bytes_;
  std::mutex mutex_;
  int64_t claimed_ = 0;
};

/// A claim that shrinks as bytes are written, and ends with its scope.
class DiskClaim {
 public:
  DiskClaim(DiskSpace& disk, int64_t bytes) : disk_(disk), left_(bytes) { disk_.Claim(bytes); }
  ~DiskClaim() { disk_.Release(left_); }
  DiskClaim(const DiskClaim&) = delete;
  DiskClaim& operator=(const DiskClaim&) = delete;
  void Written(int64_t bytes) {
    const int64_t known = bytes < left_ ? bytes : left_;
    disk_.Release(known);
    left_ -= known;
  }

 private:
  DiskSpace& disk_;
  int64_t left_;
};

}  // namespace natsl::fetch
