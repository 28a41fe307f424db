// Archives by libarchive.
#include "fetch/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = size_t{1} << 16;

using Reader = std::unique_ptr<archive, int (*)(archive*)>;

std::string_view WithoutDotSlash(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

class Extraction {
 public:
  Extraction(const fs::path& path, const std::vector<WantedMember>& members, DiskSpace& disk,
             const std::function<bool()>& stopped, const ArchiveLimits& limits)
      : path_(path),
        members_(members),
        disk_(disk),
        stopped_(stopped),
        limits_(limits),
        reader_(archive_read_new(), archive_read_free) {
    if (reader_ == nullptr) throw InternalError("libarchive gives no handle");
    archive_read_support_format_zip(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) throw DataError("{}: {}", path.string(), error.message());
    most_bytes_ = std::max(
        limits.free_bytes,
        static_cast<int64_t>(std::min<uintmax_t>(size, INT64_MAX / limits.ratio)) * limits.ratio);
    if (archive_read_open_filename(reader_.get(), path.c_str(), kBlock) != ARCHIVE_OK) {
      throw Damaged();
    }
  }

  void Run() {
    archive_entry* entry = nullptr;
    while (found_.size() < members_.size()) {
      if (stopped_()) throw UsageError("stopped");
      const int status = archive_read_next_header(reader_.get(), &entry);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw Damaged();
      if (++entries_ > limits_.entries) {
        throw DataError("{}: more than {} entries", path_.string(), limits_.entries);
      }
      Visit(entry);
    }
    for (const WantedMember& member : members_) {
      if (!found_.contains(member.name)) {
        throw DataError("{}: has no \"{}\" among its {} entries", path_.string(), member.name,
                        entries_);
      }
    }
  }

 private:
  void Visit(archive_entry* entry) {
    const char* raw = archive_entry_pathname(entry);
    const std::string name(WithoutDotSlash(raw == nullptr ? "" : raw));
    for (const WantedMember& member : members_) {
      if (WithoutDotSlash(member.name) != name) continue;
      if (!found_.insert(member.name).second) {
        throw DataError("{}: \"{}\" is in it twice", path_.string(), member.name);
      }
      Take(entry, member);
      return;
    }
    // A skipped entry of a compressed archive is unpacked all the same.
    while (Next()) {
    }
  }

  void Take(archive_entry* entry, const WantedMember& member) {
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
      throw DataError("{}: \"{}\" isn't a regular file", path_.string(), member.name);
    }
    if (archive_entry_is_data_encrypted(entry) != 0) {
      throw DataError("{}: \"{}\" is encrypted", path_.string(), member.name);
    }
    std::optional<int64_t> size = member.bytes;
    if (archive_entry_size_is_set(entry) != 0) {
      const int64_t told = archive_entry_size(entry);
      if (member.bytes && told != *member.bytes) throw WrongSize(member, told);
      if (told < 0 || told > most_bytes_) throw Bomb();
      size = told;
    }
    const DiskClaim claim(disk_, size.value_or(0));
    const int fd =
        ::open(member.target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) throw Unwritable(member);
    const std::unique_ptr<const int, void (*)(const int*)> closer(
        &fd, [](const int* open) { ::close(*open); });
    int64_t written = 0;
    while (Next()) {
      // Sparse tar entries skip what is zero.
      if (offset_ < written) throw Damaged();
      if (size && offset_ + static_cast<int64_t>(size_) > *size) throw WrongSize(member, offset_);
      const auto* data = static_cast<const char*>(block_);
      for (size_t done = 0; done < size_;) {
        const ssize_t n = ::pwrite(fd, data + done, size_ - done,
                                   static_cast<off_t>(offset_) + static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Unwritable(member);
        done += static_cast<size_t>(n);
      }
      written = offset_ + static_cast<int64_t>(size_);
    }
    if (size && written != *size) throw WrongSize(member, written);
    if (::fsync(fd) != 0) throw Unwritable(member);
  }

  /// The next block of the entry's data; false at its end.
  bool Next() {
    if (stopped_()) throw UsageError("stopped");
    const int status = archive_read_data_block(reader_.get(), &block_, &size_, &offset_);
    if (status == ARCHIVE_EOF) return false;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw Damaged();
    unpacked_ += static_cast<int64_t>(size_);
    if (unpacked_ > most_bytes_ || offset_ < 0 || offset_ > most_bytes_) throw Bomb();
    return true;
  }

  Error Damaged() const {
    const char* reason = archive_error_string(reader_.get());
    return DataError("{}: not a whole zip or tar archive: {}", path_.string(),
                     reason == nullptr ? "unreadable" : reason);
  }
  Error Bomb() const {
    return DataError("{}: unpacks to more than {} bytes, which is refused", path_.string(),
                     most_bytes_);
  }
  Error WrongSize(const WantedMember& member, int64_t found) const {
    return DataError("{}: \"{}\" has {} bytes, expected {}", path_.string(), member.name, found,
                     member.bytes.value_or(0));
  }
  Error Unwritable(const WantedMember& member) const {
    const int reason = errno;
    const bool full = reason == ENOSPC || reason == EDQUOT || reason == EIO;
    return Error(
        full ? ErrorCode::kInternal : ErrorCode::kUsage,
        fmt::format("{}: cannot write it: {}", member.target.string(), std::strerror(reason)));
  }

  const fs::path& path_;
  const std::vector<WantedMember>& members_;
  DiskSpace& disk_;
  const std::function<bool()>& stopped_;
  const ArchiveLimits& limits_;
  Reader reader_;
  std::set<std::string> found_;
  int64_t most_bytes_ = 0, unpacked_ = 0, entries_ = 0;
  const void* block_ = nullptr;
  size_t size_ = 0;
  la_int64_t offset_ = 0;
};

}  // namespace

ArchiveLimits ArchiveLimits::Default() {
  return {limits::kMaxArchiveEntries, limits::kMaxArchiveRatio, limits::kFreeArchiveBytes};
}

void ExtractMembers(const fs::path& archive, const std::vector<WantedMember>& members,
                    DiskSpace& disk, const std::function<bool()>& stopped,
                    const ArchiveLimits& limits) {
  Extraction(archive, members, disk, stopped, limits).Run();
}

}  // namespace natsl::fetch
