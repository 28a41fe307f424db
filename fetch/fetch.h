// Fetching datasets into a data folder by their manifests. The one part of the program that goes to
// the network for data, and only when called.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fetch/hub.h"
#include "fetch/progress.h"
#include "model_adapters/remote/retry.h"
#include "tasks/data/manifest.h"

namespace natsl::fetch {

/// Which of a dataset's files.
enum class FetchFrom {
  kAuto,       ///< the published ones where an address of one is known, else the hub's
  kPublished,  ///< the manifest's "files", from their "sources"
  kHub,        ///< the repository's "hub_files", into DATA/datasets--ORG--NAME as the hub's cache
};

struct FetchOptions {
  std::filesystem::path data;
  std::filesystem::path lock;  ///< empty: DATA/data.lock
  std::string hub = kHubUrl;   ///< the token is sent there and nowhere else
  /// Addresses that start with `first` are tried with `second` in its place before.
  std::vector<std::pair<std::string, std::string>> mirrors;
  std::string token, ca_file;
  FetchFrom from = FetchFrom::kAuto;
  int64_t jobs = 4;
  bool replace = false;  ///< files that are there and wrong are fetched anew
  bool relock = false;   ///< files that only the lock knows are fetched and locked anew
  bool dry_run = false;
  model_adapters::RetryPolicy retry;
  std::function<bool()> stopped = [] { return false; };
  std::function<int64_t()> free_bytes;  ///< of the data folder's disk; empty: the system tells
};

enum class FetchState {
  kFetched,
  kPresent,   ///< was there, and right as far as anybody knows: untouched
  kInCache,   ///< a cache of the hub has it
  kNoSource,  ///< no address of it is known
  kPlanned,   ///< dry run: would be fetched
  kFailed,
};
const char* Name(FetchState state);

struct FetchResult {
  const tasks::Manifest* manifest = nullptr;
  std::string file;  ///< relative to the data folder; a whole path in another cache
  FetchState state = FetchState::kFailed;
  std::string detail;
};

/// One result a file, in the manifests' order. A file that can't be had doesn't keep others from
/// being fetched. Throws Error (internal): the disk is full; Error (usage): the folder can't be
/// written, or another fetch is at work in it; Error (data): the lock is damaged.
std::vector<FetchResult> FetchData(const std::vector<const tasks::Manifest*>& manifests,
                                   const FetchOptions& options, FetchProgress& progress);

}  // namespace natsl::fetch
