// Pieces of work of a fetch: the files of one source, or one file of the hub. Each is done by one
// thread.
#pragma once

#include <string>
#include <vector>

#include "fetch/download.h"
#include "fetch/fetch.h"
#include "fetch/store.h"

namespace natsl::fetch {

/// Published files that come together: several of one archive, or one by itself.
struct PublishedJob {
  const tasks::Manifest* manifest = nullptr;
  std::vector<const tasks::ManifestFile*> files;
  std::vector<FetchResult*> results;  ///< [files]
};

/// The files that have a source, grouped by the first of them.
std::vector<PublishedJob> GroupBySource(const tasks::Manifest& manifest,
                                        const std::vector<const tasks::ManifestFile*>& files,
                                        const std::vector<FetchResult*>& results);

void RunPublished(const PublishedJob& job, const FetchOptions& options, Store& store,
                  const DownloadContext& context);

/// One file of the hub into the data folder's cache.
struct HubJob {
  const tasks::Manifest* manifest = nullptr;
  std::string commit;
  HubFile file;
  FetchResult* result = nullptr;
};

void RunHub(const HubJob& job, const FetchOptions& options, Store& store,
            const DownloadContext& context);

/// The files of the manifest's "hub_files" at the locked commit, else at main. Throws Error (data)
/// where the hub doesn't tell, or a pattern has no file.
HubListing ListHubFiles(const tasks::Manifest& manifest, const FetchOptions& options, Store& store,
                        const DownloadContext& context);

/// "a|b" of a manifest's "hub_files": the first that has files counts.
std::vector<std::string> AlternativesOf(const std::string& pattern);
/// A file of a hub cache (a link to its blob) whose bytes are those of the blob's name.
bool IsRightBlob(const std::filesystem::path& file);
/// Whether names like "x-00001-of-00003.parquet" are all there, or have no such number.
bool IsComplete(const std::vector<std::filesystem::path>& files);

/// An address's mirrors, in the options' order, and itself.
std::vector<std::string> AddressesOf(const std::string& url, const FetchOptions& options);

}  // namespace natsl::fetch
