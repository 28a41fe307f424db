// What a download meets: archives, the hub's listings, headers; and the lock it leaves.
#include "fetch/archive.h"
#include "fetch/http.h"
#include "fetch/hub.h"
#include "tasks/data/lock.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/targets/support.h"

namespace natsl::fuzz {

using namespace fetch;

void FuzzArchive(std::string_view input) {
  const std::filesystem::path archive = ScratchFile("archive", input);
  const std::filesystem::path folder = ScratchFolder() / "unpacked";
  std::filesystem::create_directories(folder);
  DiskSpace disk(folder, [] { return INT64_MAX; });
  const ArchiveLimits limits{1000, 100, 1 << 20};
  Refusable([&] {
    ExtractMembers(
        archive, {{"a.txt", folder / "a", std::nullopt}, {"set/b.txt", folder / "b", 180}}, disk,
        [] { return false; }, limits);
  });
  Refusable([&] {
    ExtractMembers(
        archive, {{"a.txt", folder / "a", std::nullopt}}, disk, [] { return false; }, limits);
  });
}

void FuzzHubListing(std::string_view input) {
  Refusable([&] { ParseHubListing(input, "listing"); });
}

void FuzzContentRange(std::string_view input) {
  if (const auto range = ParseContentRange(input)) {
    if (range->first < 0 || range->last < range->first) __builtin_trap();
  }
  const std::string text(input);
  OriginOf(text);
  RevisionOf(text);
}

void FuzzDataLock(std::string_view input) {
  Refusable([&] {
    const tasks::DataLock lock(input, "data.lock");
    tasks::DataLock(lock.ToJson(), "again");
  });
}

}  // namespace natsl::fuzz
