#include "latency/host_memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace natsl::latency {
namespace {

// The number behind `key` in a file of "key: number [kB]" or "key number" lines.
std::optional<int64_t> Field(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string name, unit;
  int64_t value = 0;
  while (file >> name) {
    if (name != key) {
      std::getline(file, unit);
      continue;
    }
    if (!(file >> value)) return std::nullopt;
    std::getline(file, unit);
    return unit.find("kB") != std::string::npos ? value * 1024 : value;
  }
  return std::nullopt;
}

// A file that holds one number; nothing for "max" and for what can't be read.
std::optional<int64_t> Single(const char* path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

std::optional<int64_t> LeftOfGroup() {
  struct Files {
    const char *limit, *used, *statistics, *cache;
  };
  constexpr Files kVersions[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
       "inactive_file"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
       "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};
  for (const Files& files : kVersions) {
    const auto limit = Single(files.limit), used = Single(files.used);
    if (!limit || !used) continue;
    // Cached files count as used but make room when asked to.
    const int64_t cache = Field(files.statistics, files.cache).value_or(0);
    return std::max<int64_t>(0, *limit - *used + cache);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProcessMemory> ReadProcessMemory() {
  const auto resident = Field("/proc/self/status", "VmRSS:");
  const auto peak = Field("/proc/self/status", "VmHWM:");
  if (!resident || !peak) return std::nullopt;
  return ProcessMemory{*resident, *peak};
}

bool ResetPeakMemory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return static_cast<bool>(file);
}

void TrimHeap() { ::malloc_trim(0); }

std::optional<int64_t> AvailableMemory() {
  const auto machine = Field("/proc/meminfo", "MemAvailable:"), group = LeftOfGroup();
  if (!machine) return group;
  return group ? std::min(*machine, *group) : *machine;
}

int64_t MachineMemory() { return Field("/proc/meminfo", "MemTotal:").value_or(0); }

}  // namespace natsl::latency
