// Hub cache layout: datasets--ORG--NAME/{refs/main, snapshots/REV/<the repository's files>}.
#include "tasks/data/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/files.h"
#include "core/utf8.h"

namespace natsl::tasks {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void Expand(const fs::path& folder, std::string_view glob, std::vector<fs::path>& found) {
  const size_t slash = glob.find('/');
  const std::string_view component = glob.substr(0, slash);
  for (const fs::path& entry : Entries(folder)) {
    if (!MatchesGlob(entry.filename().string(), component)) continue;
    std::error_code error;
    if (slash != std::string_view::npos) {
      if (fs::is_directory(entry, error)) Expand(entry, glob.substr(slash + 1), found);
    } else if (fs::is_regular_file(entry, error)) {
      found.push_back(entry);
    }
  }
}

/// Snapshot folders, the one refs/main names first.
std::vector<fs::path> Snapshots(const fs::path& repository) {
  std::vector<fs::path> snapshots = Entries(repository / "snapshots");
  std::reverse(snapshots.begin(), snapshots.end());
  std::error_code error;
  if (fs::is_regular_file(repository / "refs" / "main", error)) {
    const std::string content =
        core::ReadFile(repository / "refs" / "main", ErrorCode::kData, 4096);
    const std::string revision(core::PythonStrip(content));
    std::stable_partition(snapshots.begin(), snapshots.end(), [&](const fs::path& snapshot) {
      return snapshot.filename().string() == revision;
    });
  }
  return snapshots;
}

}  // namespace

bool MatchesGlob(std::string_view text, std::string_view pattern) {
  size_t t = 0;
  size_t p = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<fs::path> HubCaches(const fs::path& root) {
  std::vector<fs::path> caches;
  if (!root.empty()) caches = {root, root / "hub"};
  if (const char* cache = std::getenv("HF_HUB_CACHE")) caches.emplace_back(cache);
  if (const char* cache = std::getenv("HUGGINGFACE_HUB_CACHE")) caches.emplace_back(cache);
  if (const char* home = std::getenv("HF_HOME")) caches.push_back(fs::path(home) / "hub");
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    caches.push_back(fs::path(cache) / "huggingface" / "hub");
  }
  if (const char* home = std::getenv("HOME")) {
    caches.push_back(fs::path(home) / ".cache" / "huggingface" / "hub");
  }
  return caches;
}

std::vector<fs::path> FindInHub(const fs::path& root, const std::string& pattern) {
  const size_t colon = pattern.find(':');
  std::string folder = "datasets--" + pattern.substr(0, colon);
  if (const size_t slash = folder.find('/'); slash != std::string::npos) {
    folder.replace(slash, 1, "--");
  }
  for (const fs::path& cache : HubCaches(root)) {
    for (const fs::path& snapshot : Snapshots(cache / folder)) {
      std::vector<fs::path> found;
      Expand(snapshot, std::string_view(pattern).substr(colon + 1), found);
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace natsl::tasks
