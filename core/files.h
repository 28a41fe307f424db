// Reading, mapping and writing files. Every failure names the path and the system's reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace natsl::core {

/// The whole file as bytes. `code` is the code of the error if it can't be read, or if it is
/// larger than `max_bytes`.
std::string ReadFile(const std::filesystem::path& path, ErrorCode code,
                     int64_t max_bytes = int64_t{1} << 32);

/// Writes the file so that readers see the old content or the new, never a part: a temporary file
/// beside it, fsync, rename. What is no file (a pipe, a device, /dev/stdout) is written into and
/// stays what it is. Throws Error (usage: not writable; internal: disk full).
void WriteFileAtomic(const std::filesystem::path& path, std::string_view content);

/// A read-only mapping of a file. Empty files map to an empty span.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(const std::filesystem::path& path, ErrorCode code);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace natsl::core
