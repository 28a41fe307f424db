#include "fetch/disk.h"

#include "core/error.h"
#include "core/limits.h"

namespace natsl::fetch {
namespace {

int64_t SystemFree(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return INT64_MAX;  // who can't tell can't refuse
  return std::in_range<int64_t>(space.available) ? static_cast<int64_t>(space.available)
                                                 : INT64_MAX;
}

}  // namespace

DiskSpace::DiskSpace(std::filesystem::path folder, std::function<int64_t()> free_bytes)
    : folder_(std::move(folder)), free_bytes_(std::move(free_bytes)) {
  if (!free_bytes_) free_bytes_ = [this] { return SystemFree(folder_); };
}

void DiskSpace::Claim(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const int64_t left = free_bytes_() - claimed_ - limits::kSpareDiskBytes;
  if (bytes > left) {
    throw InternalError(
        "{}: {} bytes are needed, and only {} are free; make room or choose another folder",
        folder_.string(), bytes, std::max<int64_t>(left, 0));
  }
  claimed_ += bytes;
}

void DiskSpace::Release(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  claimed_ -= bytes;
}

}  // namespace natsl::fetch
