// Dataset manifests: what the program knows of each dataset, and whether a data folder has it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace natsl::tasks {

/// Where a file can be fetched: an address, or a file of the hub repository; with `member`, the
/// file of that name in the zip or tar archive that is there.
struct ManifestSource {
  std::string url;       ///< http or https; "": `hub_path` counts
  std::string hub_path;  ///< in the manifest's hub repository
  std::string member;    ///< "": the whole file
};

struct ManifestFile {
  std::string path;                   ///< relative to the data folder
  std::string split;                  ///< "train", "validation" or "test"
  std::optional<int64_t> bytes;       ///< unpacked
  std::optional<std::string> sha256;  ///< of the unpacked bytes
  std::optional<int64_t> rows;
  std::vector<ManifestSource> sources;  ///< in the order they are tried; empty: none known
};

/// Fields as data_manifests/README.md documents them.
struct Manifest {
  std::string name;
  std::string title;
  std::string home;
  std::string hub;       ///< "" none
  std::string revision;  ///< "" none named
  std::string licence;
  std::vector<std::string> tasks;
  std::string layout;
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<ManifestFile> files;
  /// Patterns of the hub repository's files that the tasks read: `*` within a path component, and
  /// "a|b" for repositories that lay them out in one way or the other.
  std::vector<std::string> hub_files;
};

/// A relative path without "..", for a name that comes from a file.
bool StaysBelow(std::string_view path);

/// Reads and validates one manifest. Throws Error (data): "where: ..." with field and expectation.
Manifest ParseManifest(std::string_view text, const std::string& where);

/// All manifests of this build, by name.
const std::vector<Manifest>& Manifests();
/// Error (usage) with the nearest names where there is none.
const Manifest& FindManifest(const std::string& name);

enum class FileState {
  kRight,       ///< size and hash are as the manifest, or else the lock, says
  kUnverified,  ///< there, but neither knows its size or hash
  kMissing,
  kWrongSize,
  kWrongHash,
  kUnreadable,
};
constexpr const char* Name(FileState state) {
  switch (state) {
    case FileState::kRight:
      return "right";
    case FileState::kUnverified:
      return "present, nothing known to compare with";
    case FileState::kMissing:
      return "missing";
    case FileState::kWrongSize:
      return "wrong size";
    case FileState::kWrongHash:
      return "wrong hash";
    case FileState::kUnreadable:
      return "unreadable";
  }
  return "?";
}

class DataLock;

struct FileCheck {
  const Manifest* manifest = nullptr;
  std::string file;  ///< relative to the data folder, as in the manifest or the lock
  FileState state = FileState::kMissing;
  std::filesystem::path found;  ///< empty where missing
  int64_t bytes = 0;            ///< found, unpacked
  std::string sha256;           ///< found, of the unpacked bytes; "" where not read
  std::string detail;           ///< for people: what was found and expected
};

/// Checks one file of a manifest in a data folder. What the manifest doesn't know, the lock may.
FileCheck VerifyFile(const std::filesystem::path& root, const Manifest& manifest,
                     const ManifestFile& file, const DataLock& lock);

/// Checks the files of the named datasets (none: of all) in a data folder, and their files of the
/// hub that the lock lists; others of a hub cache aren't looked at. Throws Error (usage) for an
/// unknown name, Error (data) where `root` isn't a folder or the lock is damaged.
std::vector<FileCheck> VerifyData(const std::filesystem::path& root,
                                  const std::vector<std::string>& names, const DataLock& lock);

/// Where a dataset's files are for a data folder: those of the manifest that exist, and those in a
/// hub cache's snapshot.
struct DatasetLocation {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> hub_files;
};
DatasetLocation LocateDataset(const std::filesystem::path& root, const Manifest& manifest);

/// A file of the source tree, built in (cmake/EmbedFiles.cmake).
struct EmbeddedFile {
  const char* name;
  const char* content;
};
std::vector<EmbeddedFile> EmbeddedManifests();

}  // namespace natsl::tasks
