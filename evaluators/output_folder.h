// The folder a run writes to, held by one process at a time.
#pragma once

#include <filesystem>
#include <optional>

#include "core/folder_lock.h"

namespace natsl::evaluators {

/// Locks the folder for as long as it lives; the kernel lets go when the process ends, however it
/// ends. A folder that was created for a run that then put nothing into it is removed again.
class OutputFolder {
 public:
  /// Creates the folder where it is missing. `overwrite`: removes the files of an earlier run.
  /// Throws Error (usage): not writable, in use by another run, or holding results without the
  /// journal that they came from.
  OutputFolder(std::filesystem::path path, bool overwrite);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool has_journal() const;
  /// Removes the journal where it holds no answer. Throws nothing; what can't be read stays.
  void RemoveEmptyJournal() const;

 private:
  /// Removes what a killed process left half-written and, unless only that, an earlier run.
  void RemoveFiles(bool unfinished_only) const;

  std::filesystem::path path_;
  std::filesystem::path created_from_;  ///< outermost folder that was created; empty: none
  std::optional<core::FolderLock> lock_;
};

}  // namespace natsl::evaluators
