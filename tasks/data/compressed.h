// Whole files in memory, decompressed by their ending (.gz, .zst).
#pragma once

#include <filesystem>
#include <string>

namespace natsl::tasks {

/// A file's bytes as stored and its content; `content` is empty where they are the same.
struct FileBytes {
  std::string stored;
  std::string unpacked;
  bool compressed = false;
  const std::string& content() const { return compressed ? unpacked : stored; }
};

/// Throws Error (data): unreadable, a broken or cut stream, more than 16 GiB unpacked. `shown`
/// names the file in errors.
FileBytes ReadPossiblyCompressed(const std::filesystem::path& file, const std::string& shown);

}  // namespace natsl::tasks
