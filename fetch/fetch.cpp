// What a fetch has to do, and the threads that do it.
#include "fetch/fetch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "fetch/job.h"
#include "tasks/data/hub_cache.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;
using tasks::FileState;
using tasks::Manifest;
using tasks::ManifestFile;

/// The results stay where they are while jobs fill them in.
using Results = std::list<FetchResult>;

class Fetch {
 public:
  Fetch(const FetchOptions& options, FetchProgress& progress)
      : options_(options), progress_(progress), store_(options) {}

  std::vector<FetchResult> Run(const std::vector<const Manifest*>& manifests) {
    for (const Manifest* manifest : manifests) {
      if (FromHub(*manifest)) {
        PlanHub(*manifest);
      } else {
        PlanPublished(*manifest);
      }
    }
    Work();
    return {std::make_move_iterator(results_.begin()), std::make_move_iterator(results_.end())};
  }

 private:
  using Job = std::function<void(const DownloadContext&)>;

  bool FromHub(const Manifest& manifest) const {
    if (options_.from == FetchFrom::kHub && manifest.hub_files.empty()) {
      throw UsageError("{}: its manifest names no files of the hub; leave --from out",
                       manifest.name);
    }
    if (options_.from != FetchFrom::kAuto) return options_.from == FetchFrom::kHub;
    const bool published = std::any_of(manifest.files.begin(), manifest.files.end(),
                                       [](const ManifestFile& f) { return !f.sources.empty(); });
    return !published && !manifest.hub_files.empty();
  }

  FetchResult& Add(const Manifest& manifest, const std::string& file, FetchState state,
                   const std::string& detail) {
    return results_.emplace_back(FetchResult{&manifest, file, state, detail});
  }

  void PlanPublished(const Manifest& manifest) {
    std::vector<const ManifestFile*> files;
    std::vector<FetchResult*> results;
    for (const ManifestFile& file : manifest.files) {
      const tasks::FileCheck check = store_.Check(manifest, file);
      const bool missing = check.state == FileState::kMissing;
      const bool known = check.state == FileState::kRight || check.state == FileState::kUnverified;
      const bool relock = options_.relock && known && !file.sha256 && !file.sources.empty();
      if (known && !relock) {
        Add(manifest, file.path, FetchState::kPresent, check.detail);
      } else if (file.sources.empty()) {
        Add(manifest, file.path, FetchState::kNoSource,
            fmt::format("no address is known; published at {}", manifest.home));
      } else if (!missing && !relock && !options_.replace) {
        Add(manifest, file.path, FetchState::kFailed,
            fmt::format("is there and wrong ({}); --replace fetches it anew", check.detail));
      } else {
        const tasks::ManifestSource& source = file.sources.front();
        files.push_back(&file);
        results.push_back(&Add(manifest, file.path, FetchState::kPlanned,
                               source.url.empty()
                                   ? fmt::format("{}: {}", manifest.hub, source.hub_path)
                                   : source.url));
      }
    }
    if (options_.dry_run) return;
    for (PublishedJob& job : GroupBySource(manifest, files, results)) {
      const auto count = static_cast<int64_t>(job.files.size());
      AddJob(count, [this, job = std::move(job)](const DownloadContext& context) {
        RunPublished(job, options_, store_, context);
      });
    }
  }

  /// What a cache has of the patterns; empty unless it has all of it.
  std::vector<fs::path> Cached(const Manifest& manifest) const {
    std::vector<fs::path> all;
    for (const std::string& pattern : manifest.hub_files) {
      std::vector<fs::path> found;
      for (const std::string& alternative : AlternativesOf(pattern)) {
        if (found.empty())
          found = tasks::FindInHub(options_.data, manifest.hub + ":" + alternative);
      }
      const bool right = !found.empty() && IsComplete(found) &&
                         std::all_of(found.begin(), found.end(), IsRightBlob);
      if (!right) return {};
      all.insert(all.end(), found.begin(), found.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void PlanHub(const Manifest& manifest) {
    if (!options_.relock) {
      const std::vector<fs::path> cached = Cached(manifest);
      for (const fs::path& file : cached) {
        const fs::path below = file.lexically_relative(options_.data);
        const bool own = !below.empty() && *below.begin() != "..";
        Add(manifest, own ? below.string() : file.string(),
            own ? FetchState::kPresent : FetchState::kInCache, manifest.hub);
      }
      if (!cached.empty()) return;
    }
    if (options_.dry_run) {
      for (const std::string& pattern : manifest.hub_files) {
        Add(manifest, manifest.hub + ": " + pattern, FetchState::kPlanned,
            ListingUrl(options_.hub, manifest.hub, "main"));
      }
      return;
    }
    // Its files become known on the way: jobs of a job.
    AddJob(0, [this, &manifest](const DownloadContext& context) { ListHub(manifest, context); });
  }

  void ListHub(const Manifest& manifest, const DownloadContext& context) {
    HubListing listing;
    try {
      listing = ListHubFiles(manifest, options_, store_, context);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
      const std::lock_guard guard(mutex_);
      Add(manifest, manifest.hub, FetchState::kFailed, error.what());
      return;
    }
    for (const HubFile& file : listing.files) {
      const std::lock_guard guard(mutex_);
      FetchResult& result =
          Add(manifest, CacheFolderName(manifest.hub) + "/" + file.path, FetchState::kFailed, "");
      AddJobHeld(1, [this, job = HubJob{&manifest, listing.commit, file, &result}](
                        const DownloadContext& own) { RunHub(job, options_, store_, own); });
    }
  }

  void AddJob(int64_t files, Job job) {
    const std::lock_guard guard(mutex_);
    AddJobHeld(files, std::move(job));
  }
  void AddJobHeld(int64_t files, Job job) {
    jobs_.emplace_back(files, std::move(job));
    progress_.AddFiles(files);
    changed_.notify_all();
  }

  std::optional<std::pair<int64_t, Job>> NextJob() {
    const std::lock_guard guard(mutex_);
    if (failure_ || jobs_.empty()) return std::nullopt;
    std::pair<int64_t, Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    return job;
  }

  void Work() {
    if (jobs_.empty()) return;
    std::vector<std::thread> threads;
    try {
      for (int64_t i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { WorkThread(); });
    } catch (const std::system_error&) {  // a limit on threads: those there are do it all
      if (threads.empty()) throw;
    }
    for (std::thread& thread : threads) thread.join();
    progress_.End();
    if (failure_) std::rethrow_exception(failure_);
  }

  void WorkThread() {
    const auto stopped = [this] {
      return options_.stopped() || failed_.load(std::memory_order_relaxed);
    };
    try {
      HttpClient client({options_.token, OriginOf(options_.hub), options_.ca_file, stopped});
      const DownloadContext context{client,
                                    store_.disk(),
                                    options_.retry,
                                    stopped,
                                    [this](int64_t bytes) { progress_.Advance(bytes); },
                                    [this](const std::string& text) { progress_.Note(text); }};
      while (true) {
        std::optional<std::pair<int64_t, Job>> job = NextJob();
        if (!job) {
          // Another thread's job may still add some.
          std::unique_lock guard(mutex_);
          if (failure_ || (jobs_.empty() && running_ == 0)) return;
          changed_.wait(guard, [this] { return failure_ || !jobs_.empty() || running_ == 0; });
          continue;
        }
        job->second(context);
        for (int64_t i = 0; i < job->first; ++i) progress_.FileEnded();
        const std::lock_guard guard(mutex_);
        --running_;
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
      changed_.notify_all();
    }
  }

  const FetchOptions& options_;
  FetchProgress& progress_;
  Store store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Results results_;
  std::list<std::pair<int64_t, Job>> jobs_;
  int64_t running_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace

const char* Name(FetchState state) {
  switch (state) {
    case FetchState::kFetched:
      return "fetched";
    case FetchState::kPresent:
      return "present";
    case FetchState::kInCache:
      return "in the hub's cache";
    case FetchState::kNoSource:
      return "no address";
    case FetchState::kPlanned:
      return "to fetch";
    case FetchState::kFailed:
      return "failed";
  }
  return "?";
}

std::vector<FetchResult> FetchData(const std::vector<const Manifest*>& manifests,
                                   const FetchOptions& options, FetchProgress& progress) {
  return Fetch(options, progress).Run(manifests);
}

}  // namespace natsl::fetch
