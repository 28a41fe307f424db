// A folder that one process writes to at a time.
#pragma once

#include <filesystem>
#include <string>

namespace natsl::core {

/// Holds a file in the folder locked for as long as it lives; the kernel lets go when the process
/// ends, however it ends.
class FolderLock {
 public:
  enum class File { kStays, kGoes };  ///< what becomes of the file at the end

  /// Throws Error (usage): not writable, or held by another process.
  FolderLock(const std::filesystem::path& folder, const std::string& file_name, File after);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  File after_;
  int descriptor_ = -1;
};

}  // namespace natsl::core
