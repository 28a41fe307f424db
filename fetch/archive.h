// Members of zip and tar(.gz) archives, by name. Where they go the caller says: nothing in an
// archive decides on a path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fetch/disk.h"

namespace natsl::fetch {

struct WantedMember {
  std::string name;              ///< in the archive, exactly ("./" in front doesn't count)
  std::filesystem::path target;  ///< written over
  std::optional<int64_t> bytes;  ///< what it must have
};

struct ArchiveLimits {
  int64_t entries;     ///< looked at
  int64_t ratio;       ///< bytes unpacked, skipped ones included, as multiple of the archive's
  int64_t free_bytes;  ///< that many are unpacked whatever the ratio
  static ArchiveLimits Default();
};

/// Unpacks the members in one pass. Throws Error (data): not such an archive, damaged, a member
/// that is missing, isn't a regular file, is encrypted, has another size or is there twice; more
/// entries or bytes than the limits (a bomb); Error (internal): the disk is full.
void ExtractMembers(const std::filesystem::path& archive, const std::vector<WantedMember>& members,
                    DiskSpace& disk, const std::function<bool()>& stopped,
                    const ArchiveLimits& limits = ArchiveLimits::Default());

}  // namespace natsl::fetch
