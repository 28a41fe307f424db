// The data folder that is fetched into: its lock, and how a file gets its place. For several
// threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include "core/error.h"
#include "fetch/disk.h"
#include "fetch/fetch.h"
#include "tasks/data/lock.h"

namespace natsl::fetch {

/// A file that came and isn't what it must be.
class WrongBytes : public Error {
 public:
  using Error::Error;
};

class Store {
 public:
  /// Makes the folder and holds it: a second fetch in it is an Error (usage).
  explicit Store(const FetchOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::filesystem::path& root() const { return options_.data; }
  DiskSpace& disk() { return disk_; }

  tasks::FileCheck Check(const tasks::Manifest& manifest, const tasks::ManifestFile& file);
  /// The hash that the file must have, by the manifest or the lock.
  std::optional<std::string> KnownHash(const tasks::Manifest& manifest,
                                       const tasks::ManifestFile& file);
  /// The commit of the hub that the lock has the dataset's files of; "" none.
  std::string LockedCommit(const std::string& name);

  /// Hashes `partial`, compares, locks where only a lock can know the hash, and renames it to its
  /// place: `target`, an absolute path below the folder. Throws WrongBytes with both hashes.
  void Place(const tasks::Manifest& manifest, const tasks::ManifestFile& file,
             const std::filesystem::path& partial, const std::filesystem::path& target,
             const std::string& url);
  /// The same for a file of the hub, whose bytes were checked: links it into the cache and locks
  /// it.
  void PlaceHubFile(const tasks::Manifest& manifest, const std::string& commit, const HubFile& file,
                    const std::string& url);

 private:
  void Lock(tasks::LockedFile file);

  const FetchOptions& options_;
  std::filesystem::path lock_file_;
  DiskSpace disk_;
  int folder_ = -1;
  std::mutex mutex_;
  tasks::DataLock lock_;
};

}  // namespace natsl::fetch
