// Files of the hub's repositories, in the layout of the hub's own cache: what its own tools find
// too.
#include <algorithm>
#include <charconv>
#include <set>

#include "core/files.h"
#include "core/hash.h"
#include "core/limits.h"
#include "fetch/job.h"
#include "tasks/data/hub_cache.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;

/// A pattern of a repository's path: `*` within a component.
bool MatchesPath(const std::string& path, const std::string& pattern) {
  const fs::path parts(path), globs(pattern);
  return std::equal(parts.begin(), parts.end(), globs.begin(), globs.end(),
                    [](const fs::path& part, const fs::path& glob) {
                      return tasks::MatchesGlob(part.string(), glob.string());
                    });
}

std::string Denied(const tasks::Manifest& manifest, const FetchOptions& options) {
  return fmt::format(
      ": the hub wants a token that may read {} (HF_TOKEN, or --token-file FILE); its terms are "
      "accepted at {}/datasets/{}",
      manifest.hub, options.hub, manifest.hub);
}

/// Whether the bytes are those that the blob's name tells.
bool IsBlob(const fs::path& file, const std::string& name) {
  if (name.size() == 64) return core::Sha256HexOfFile(file) == name;
  if (name.size() == 40) return GitBlobId(file) == name;
  return true;  // a cache that names its blobs in another way
}

}  // namespace

std::vector<std::string> AlternativesOf(const std::string& pattern) {
  std::vector<std::string> alternatives;
  for (size_t begin = 0; begin <= pattern.size();) {
    const size_t end = std::min(pattern.find('|', begin), pattern.size());
    alternatives.push_back(pattern.substr(begin, end - begin));
    begin = end + 1;
  }
  return alternatives;
}

bool IsRightBlob(const fs::path& file) {
  std::error_code error;
  const fs::path blob = fs::canonical(file, error);
  return !error && (blob == file || IsBlob(blob, blob.filename().string()));
}

bool IsComplete(const std::vector<fs::path>& files) {
  // "train-00001-of-00003.parquet": part 1 of 3, counted from 0.
  std::map<std::string, std::set<std::string>> parts;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    const size_t of = name.find("-of-");
    if (of == std::string::npos || of < 5) continue;
    int count = 0;
    const auto [end, error] =
        std::from_chars(name.data() + of + 4, name.data() + name.size(), count);
    if (error != std::errc() || count < 1) continue;
    parts[fmt::format("{}/{}-{}", file.parent_path().string(), name.substr(0, of - 5), count)]
        .insert(name.substr(of - 5, 5));
  }
  return std::all_of(parts.begin(), parts.end(), [](const auto& group) {
    return std::to_string(group.second.size()) == group.first.substr(group.first.rfind('-') + 1);
  });
}

HubListing ListHubFiles(const tasks::Manifest& manifest, const FetchOptions& options, Store& store,
                        const DownloadContext& context) {
  const std::string locked = store.LockedCommit(manifest.name);
  const std::string revision = locked.empty() ? "main" : locked;
  const fs::path partial = store.root() / fmt::format(".part-listing-{}", manifest.name);
  std::string why;
  for (const std::string& url :
       AddressesOf(ListingUrl(options.hub, manifest.hub, revision), options)) {
    RemovePartial(partial);
    const DownloadResult result =
        Download({url, partial, std::nullopt, false, limits::kMaxListingBytes}, context);
    std::string text;
    if (result.failure.empty()) text = core::ReadFile(partial, ErrorCode::kData);
    RemovePartial(partial);
    if (!result.failure.empty()) {
      why += fmt::format("{}{}: {}{}", why.empty() ? "" : "; ", url, result.failure,
                         result.denied ? Denied(manifest, options) : "");
      continue;
    }
    HubListing all = ParseHubListing(text, url);
    HubListing chosen{all.commit, {}};
    for (const std::string& pattern : manifest.hub_files) {
      bool any = false;
      for (const std::string& alternative : AlternativesOf(pattern)) {
        for (const HubFile& file : all.files) {
          if (!MatchesPath(file.path, alternative)) continue;
          any = true;
          const bool listed = std::any_of(chosen.files.begin(), chosen.files.end(),
                                          [&](const HubFile& f) { return f.path == file.path; });
          if (!listed) chosen.files.push_back(file);
        }
        if (any) break;
      }
      if (!any) {
        throw DataError("{}: {} has no file {} at {}", manifest.name, manifest.hub, pattern,
                        all.commit);
      }
    }
    return chosen;
  }
  throw DataError("{}", why);
}

namespace {

/// What is wrong with bytes that came as a blob; "" where nothing is.
std::string BlobFault(const fs::path& file, const HubFile& wanted) {
  if (IsBlob(file, wanted.blob)) return "";
  if (wanted.is_sha256) {
    return fmt::format("SHA-256 {} came, expected {}", core::Sha256HexOfFile(file), wanted.blob);
  }
  return fmt::format("git's id {} came, expected {}", GitBlobId(file), wanted.blob);
}

}  // namespace

void RunHub(const HubJob& job, const FetchOptions& options, Store& store,
            const DownloadContext& context) {
  const fs::path blobs = store.root() / CacheFolderName(job.manifest->hub) / "blobs";
  fs::create_directories(blobs);
  const fs::path blob = blobs / job.file.blob;
  const std::string url = ResolveUrl(options.hub, job.manifest->hub, job.commit, job.file.path);
  FetchResult& result = *job.result;
  const auto place = [&](FetchState state) {
    try {
      store.PlaceHubFile(*job.manifest, job.commit, job.file, url);
      result.state = state;
      result.detail = url;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      result.detail = error.what();
    }
  };
  std::error_code error;
  if (fs::is_regular_file(blob, error) && IsBlob(blob, job.file.blob)) {
    place(FetchState::kPresent);
    return;
  }
  const fs::path partial = blob.string() + ".incomplete";
  for (const std::string& at : AddressesOf(url, options)) {
    for (bool again : {true, false}) {
      const DownloadResult download = Download({at, partial, job.file.bytes, true}, context);
      std::string failure = download.failure;
      if (download.denied) failure += Denied(*job.manifest, options);
      if (failure.empty()) {
        failure = BlobFault(partial, job.file);
        if (failure.empty()) {
          fs::rename(partial, blob);
          RemovePartial(partial);
          place(FetchState::kFetched);
          return;
        }
        RemovePartial(partial);
        // Two versions may have been spliced: once more from the start.
        if (download.resumed && again) continue;
      }
      result.detail += fmt::format("{}{}: {}", result.detail.empty() ? "" : "; ", at, failure);
      break;
    }
    if (context.stopped()) break;
  }
}

}  // namespace natsl::fetch
