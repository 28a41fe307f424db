// One address into one file: attempts, waits, and going on where an earlier attempt or an earlier
// process stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/limits.h"
#include "fetch/disk.h"
#include "fetch/http.h"
#include "model_adapters/remote/retry.h"

namespace natsl::fetch {

struct DownloadRequest {
  std::string url;
  /// Grows here. Where the download fails it stays, with PARTIAL.json beside it (its address and
  /// the server's validator), so that the next one goes on; the caller removes or renames it.
  std::filesystem::path partial;
  std::optional<int64_t> bytes;  ///< what the file must have
  bool hash_known = false;       ///< a splice of two versions would be found by the caller
  int64_t most_bytes = limits::kMaxDownloadBytes;
};

struct DownloadResult {
  std::string failure;   ///< "" where the whole body is in the partial file
  bool denied = false;   ///< HTTP 401 or 403
  bool resumed = false;  ///< part of it is of an earlier attempt
};

struct DownloadContext {
  HttpClient& client;
  DiskSpace& disk;
  model_adapters::RetryPolicy retry;
  std::function<bool()> stopped;
  std::function<void(int64_t)> advance;          ///< bytes that came
  std::function<void(const std::string&)> note;  ///< a line for people: a repeat and why
};

/// An attempt that fails for a while (429, 5xx, a cut body, no connection) is repeated, after a
/// wait that grows, or as long as the server asks; the count starts again when bytes came. Throws
/// Error (internal) where the disk is full, Error (usage) where the file can't be written.
DownloadResult Download(const DownloadRequest& request, const DownloadContext& context);

/// Removes a partial file and what stands beside it.
void RemovePartial(const std::filesystem::path& partial);

}  // namespace natsl::fetch
