// data.lock: what files whose hash no manifest knows were when they were first fetched, so that a
// later difference is found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks {

struct LockedFile {
  std::string name;  ///< dataset
  std::string file;  ///< relative to the data folder
  int64_t bytes = 0;
  std::string sha256;  ///< of the unpacked bytes, as in manifests
  std::string url;     ///< where it came from
  std::string date;    ///< "2025-11-30"
};

/// A JSON file {"schema": 1, "files": [{"name", "file", "bytes", "sha256", "url", "date"}...]},
/// sorted by dataset and file.
class DataLock {
 public:
  static constexpr const char* kFileName = "data.lock";

  DataLock() = default;
  /// Throws Error (data): "where: ..." with field and expectation.
  DataLock(std::string_view text, const std::string& where);
  /// The file, or nothing locked where it isn't there. Throws Error (data): unreadable or damaged.
  static DataLock Read(const std::filesystem::path& file);

  const std::vector<LockedFile>& files() const { return files_; }
  /// nullptr where it isn't locked.
  const LockedFile* Find(std::string_view name, std::string_view file) const;
  /// Adds a file, or replaces it.
  void Put(LockedFile file);
  void Remove(const std::string& name, const std::string& file);
  std::string ToJson() const;

 private:
  std::vector<LockedFile> files_;
};

}  // namespace natsl::tasks
