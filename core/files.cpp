// Reading, mapping and writing files.
#include "core/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/cast.h"

namespace natsl::core {
namespace {

/// Closes a file descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Opens a regular file for reading and tells its size.
std::pair<int, size_t> OpenRegular(const std::filesystem::path& path, ErrorCode code) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(code, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    throw Error(code, fmt::format("{}: not a regular file", path.string()));
  }
  return {fd, static_cast<size_t>(info.st_size)};
}

/// Writes all of it; false, and errno set, where that fails.
bool WriteAll(int fd, std::string_view content) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

Error Unwritable(const std::filesystem::path& path, const char* what, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EIO;
  return Error(full ? ErrorCode::kInternal : ErrorCode::kUsage,
               fmt::format("{}: cannot {}: {}", path.string(), what, std::strerror(reason)));
}

/// Into what is no file of its own and can't be replaced: a pipe, a terminal, /dev/stdout.
void WriteInto(const std::filesystem::path& path, std::string_view content) {
  const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (descriptor.get() < 0) throw Unwritable(path, "open it", errno);
  if (!WriteAll(descriptor.get(), content)) throw Unwritable(path, "write it", errno);
}

/// Whether `path` can't be replaced by a new file: it is something to write into, or a descriptor
/// of this process, whose file the caller goes on writing.
bool IsSink(std::filesystem::path path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) return false;
  if (!std::filesystem::is_regular_file(status)) return true;
  constexpr int kMostLinks = 40;  // as the kernel follows
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path folder = path.parent_path();
    if (folder == "/dev/fd" || folder == "/proc/self/fd") return true;
    path = folder / std::filesystem::read_symlink(path, error);
  }
  return false;
}

}  // namespace

std::string ReadFile(const std::filesystem::path& path, ErrorCode code, int64_t max_bytes) {
  const auto [fd, size] = OpenRegular(path, code);
  const Descriptor descriptor(fd);
  if (std::cmp_greater(size, max_bytes)) {
    throw Error(code,
                fmt::format("{}: {} bytes, expected at most {}", path.string(), size, max_bytes));
  }
  std::string content(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, content.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(code, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  content.resize(done);
  return content;
}

void WriteFileAtomic(const std::filesystem::path& path, std::string_view content) {
  if (IsSink(path)) return WriteInto(path, content);
  const std::string temporary = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  const auto fail = [&](const char* what) -> Error {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return Unwritable(path, what, reason);
  };
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw fail("create it");
  {
    const Descriptor descriptor(fd);
    if (!WriteAll(fd, content)) throw fail("write it");
    if (::fsync(fd) != 0) throw fail("flush it");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw fail("replace it");
}

MappedFile::MappedFile(const std::filesystem::path& path, ErrorCode code) {
  const auto [fd, size] = OpenRegular(path, code);
  const Descriptor descriptor(fd);
  if (size == 0) return;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    throw Error(code, fmt::format("{}: cannot map it: {}", path.string(), std::strerror(errno)));
  }
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace natsl::core
