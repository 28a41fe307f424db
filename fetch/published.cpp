// Files as their publishers have them: by themselves or in archives, from the first source that
// gives the right bytes.
#include <algorithm>
#include <cctype>

#include "core/hash.h"
#include "fetch/archive.h"
#include "fetch/job.h"
#include "tasks/data/hub_cache.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;
using tasks::ManifestFile;
using tasks::ManifestSource;

constexpr const char* kWorkFolder = ".natsl-fetch";

std::string AddressOf(const ManifestSource& source, const tasks::Manifest& manifest,
                      const FetchOptions& options) {
  if (source.hub_path.empty()) return source.url;
  return ResolveUrl(options.hub, manifest.hub, "main", source.hub_path);
}

/// Of the address's path, without what follows it.
std::string EndingOf(const std::string& address) {
  return fs::path(address.substr(0, address.find_first_of("?#"))).extension().string();
}

/// Where a source's file goes: with the ending of a compressed form where it is one.
fs::path TargetOf(const ManifestFile& file, const ManifestSource& source, const Store& store,
                  const std::string& address) {
  const std::string ending = EndingOf(source.member.empty() ? address : source.member);
  const bool compressed = (ending == ".gz" || ending == ".zst") && !file.path.ends_with(ending);
  return store.root() / (file.path + (compressed ? ending : ""));
}

fs::path PartialOf(const fs::path& target) {
  return target.parent_path() / (".part-" + target.filename().string());
}

/// The archive's own file: named after its address, so that a later run finds it.
fs::path ArchiveFile(const Store& store, const std::string& address) {
  std::string name = fs::path(address.substr(0, address.find_first_of("?#"))).filename().string();
  std::erase_if(name, [](unsigned char c) {
    return c >= 0x80 || (std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_');
  });
  return store.root() / kWorkFolder / (core::Sha256Hex(address).substr(0, 16) + "-" + name);
}

/// One job at work. Files leave `left_` as they are in place.
class Published {
 public:
  Published(const PublishedJob& job, const FetchOptions& options, Store& store,
            const DownloadContext& context)
      : job_(job), options_(options), store_(store), context_(context) {
    for (size_t i = 0; i < job.files.size(); ++i) left_.push_back({i, 0, ""});
  }

  void Run() {
    while (!left_.empty() && !context_.stopped()) {
      // All that want the same archive next, or one file.
      const ManifestSource source = SourceOf(left_.front());
      std::vector<Pending*> together;
      for (Pending& pending : left_) {
        const ManifestSource& other = SourceOf(pending);
        const bool same = other.url == source.url && other.hub_path == source.hub_path;
        if (&pending == &left_.front() ||
            (same && !source.member.empty() && !other.member.empty())) {
          together.push_back(&pending);
        }
      }
      const std::string why = FromSource(source, together);
      // Those that are in place now have no reason; the others go on to their next source.
      for (Pending* pending : together) {
        if (pending->done) continue;
        pending->why +=
            (pending->why.empty() ? "" : "; ") + (pending->own.empty() ? why : pending->own);
        pending->own.clear();
        ++pending->source;
        if (pending->source >= job_.files[pending->index]->sources.size()) {
          Fail(*pending);
          pending->done = true;
        }
      }
      std::erase_if(left_, [](const Pending& pending) { return pending.done; });
    }
    for (Pending& pending : left_) {
      pending.why = "stopped";
      Fail(pending);
    }
  }

 private:
  struct Pending {
    size_t index;
    size_t source;
    std::string why;    ///< of the sources so far
    std::string own{};  ///< of this file alone, in the present source
    bool done = false;
  };

  const ManifestSource& SourceOf(const Pending& pending) const {
    return job_.files[pending.index]->sources[pending.source];
  }

  void Fail(const Pending& pending) {
    FetchResult& result = *job_.results[pending.index];
    result.state = FetchState::kFailed;
    result.detail = pending.why;
  }

  /// Why files aren't in place afterwards; what is one file's own reason stands in it.
  std::string FromSource(const ManifestSource& source, const std::vector<Pending*>& files) {
    const std::string address = AddressOf(source, *job_.manifest, options_);
    std::string why;
    for (const std::string& at : AddressesOf(address, options_)) {
      const std::string failure = source.member.empty() ? WholeFile(source, at, address, *files[0])
                                                        : Archive(source, at, address, files);
      if (failure.empty()) return "";
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", at, failure);
      if (context_.stopped()) break;
    }
    return why;
  }

  std::string Explain(const DownloadResult& result, const ManifestSource& source) const {
    if (!result.denied || source.hub_path.empty()) return result.failure;
    return fmt::format(
        "{}: the hub wants a token that may read {} (HF_TOKEN, or --token-file FILE); its terms "
        "are "
        "accepted at {}/datasets/{}",
        result.failure, job_.manifest->hub, options_.hub, job_.manifest->hub);
  }

  std::string WholeFile(const ManifestSource& source, const std::string& at,
                        const std::string& address, Pending& pending) {
    const ManifestFile& file = *job_.files[pending.index];
    const fs::path target = TargetOf(file, source, store_, address);
    const fs::path partial = PartialOf(target);
    fs::create_directories(target.parent_path());
    DownloadRequest request{at, partial, std::nullopt,
                            store_.KnownHash(*job_.manifest, file).has_value()};
    if (target.filename() == fs::path(file.path).filename()) request.bytes = file.bytes;
    for (bool again : {true, false}) {
      const DownloadResult result = Download(request, context_);
      if (!result.failure.empty()) return Explain(result, source);
      try {
        Put(pending, partial, target, address);
        return "";
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kUsage) throw;
        RemovePartial(partial);
        // Two versions may have been spliced: once more from the start.
        if (!result.resumed || !again) return error.what();
        context_.note(fmt::format("{}: {}; fetching it whole", job_.manifest->name, error.what()));
      }
    }
    return "";
  }

  std::string Archive(const ManifestSource& source, const std::string& at,
                      const std::string& address, const std::vector<Pending*>& files) {
    if (!source.hub_path.empty()) {
      for (const fs::path& cached :
           tasks::FindInHub(store_.root(), job_.manifest->hub + ":" + source.hub_path)) {
        if (!IsRightBlob(cached)) continue;
        return Unpack(cached, address, files);
      }
    }
    const fs::path archive = ArchiveFile(store_, at);
    fs::create_directories(archive.parent_path());
    const DownloadRequest request{at, archive, std::nullopt, false};
    std::string failure;
    for (bool again : {true, false}) {
      const DownloadResult result = Download(request, context_);
      if (!result.failure.empty()) return Explain(result, source);
      failure = Unpack(archive, address, files);
      if (context_.stopped()) return "stopped";
      RemovePartial(archive);
      std::error_code ignored;
      fs::remove(archive.parent_path(), ignored);  // where it is empty
      if (failure.empty() || !result.resumed || !again) break;
      context_.note(
          fmt::format("{}: {}; fetching the archive whole", job_.manifest->name, failure));
      fs::create_directories(archive.parent_path());
    }
    return failure;
  }

  std::string Unpack(const fs::path& archive, const std::string& address,
                     const std::vector<Pending*>& files) {
    std::vector<WantedMember> members;
    for (const Pending* pending : files) {
      if (pending->done) continue;
      const ManifestFile& file = *job_.files[pending->index];
      const fs::path target = TargetOf(file, SourceOf(*pending), store_, address);
      fs::create_directories(target.parent_path());
      WantedMember member{SourceOf(*pending).member, PartialOf(target), std::nullopt};
      if (target.filename() == fs::path(file.path).filename()) member.bytes = file.bytes;
      members.push_back(std::move(member));
    }
    std::string failure;
    try {
      ExtractMembers(archive, members, store_.disk(), context_.stopped);
      for (Pending* pending : files) {
        if (pending->done) continue;
        const ManifestFile& file = *job_.files[pending->index];
        const fs::path target = TargetOf(file, SourceOf(*pending), store_, address);
        try {
          Put(*pending, PartialOf(target), target, address);
          pending->own.clear();
        } catch (const WrongBytes& error) {
          pending->own = error.what();
          failure = error.what();
        }
      }
    } catch (const Error& error) {
      failure = error.what();
      if (error.code() == ErrorCode::kInternal) {
        for (const WantedMember& member : members) RemovePartial(member.target);
        throw;
      }
    }
    for (const WantedMember& member : members) RemovePartial(member.target);
    return failure;
  }

  void Put(Pending& pending, const fs::path& partial, const fs::path& target,
           const std::string& address) {
    const ManifestFile& file = *job_.files[pending.index];
    store_.Place(*job_.manifest, file, partial, target, address);
    RemovePartial(partial);
    FetchResult& result = *job_.results[pending.index];
    result.state = FetchState::kFetched;
    result.detail = address;
    pending.done = true;
  }

  const PublishedJob& job_;
  const FetchOptions& options_;
  Store& store_;
  const DownloadContext& context_;
  std::vector<Pending> left_;
};

}  // namespace

std::vector<std::string> AddressesOf(const std::string& url, const FetchOptions& options) {
  std::vector<std::string> addresses;
  for (const auto& [from, to] : options.mirrors) {
    if (url.starts_with(from)) addresses.push_back(to + url.substr(from.size()));
  }
  addresses.push_back(url);
  return addresses;
}

std::vector<PublishedJob> GroupBySource(const tasks::Manifest& manifest,
                                        const std::vector<const ManifestFile*>& files,
                                        const std::vector<FetchResult*>& results) {
  std::vector<PublishedJob> jobs;
  for (size_t i = 0; i < files.size(); ++i) {
    const ManifestSource& source = files[i]->sources.front();
    const auto same = std::find_if(jobs.begin(), jobs.end(), [&](const PublishedJob& job) {
      const ManifestSource& other = job.files.front()->sources.front();
      return !source.member.empty() && !other.member.empty() && source.url == other.url &&
             source.hub_path == other.hub_path;
    });
    PublishedJob& job = same == jobs.end() ? jobs.emplace_back() : *same;
    job.manifest = &manifest;
    job.files.push_back(files[i]);
    job.results.push_back(results[i]);
  }
  return jobs;
}

void RunPublished(const PublishedJob& job, const FetchOptions& options, Store& store,
                  const DownloadContext& context) {
  Published(job, options, store, context).Run();
}

}  // namespace natsl::fetch
