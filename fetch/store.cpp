#include "fetch/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "core/cast.h"
#include "core/files.h"
#include "core/hash.h"
#include "tasks/data/compressed.h"

namespace natsl::fetch {
namespace {

namespace fs = std::filesystem;
using tasks::LockedFile;
using tasks::Manifest;
using tasks::ManifestFile;

std::string Today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

struct Content {
  int64_t bytes = 0;
  std::string sha256;
};

/// Of the unpacked bytes, as manifests and the lock count.
Content ContentOf(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".gz" || ending == ".zst") {
    const tasks::FileBytes bytes = tasks::ReadPossiblyCompressed(file, file.string());
    return {core::Size(bytes.content()), core::Sha256Hex(bytes.content())};
  }
  const core::MappedFile bytes(file, ErrorCode::kData);
  return {core::Size(bytes.text()), core::Sha256Hex(bytes.text())};
}

void Rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw UsageError("{}: {}", to.string(), error.message());
}

}  // namespace

Store::Store(const FetchOptions& options)
    : options_(options),
      lock_file_(options.lock.empty() ? options.data / tasks::DataLock::kFileName : options.lock),
      disk_(options.data, options.free_bytes) {
  std::error_code error;
  if (!options.dry_run) {
    fs::create_directories(options.data, error);
    if (error) throw UsageError("{}: {}", options.data.string(), error.message());
    folder_ = ::open(options.data.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) throw UsageError("{}: {}", options.data.string(), std::strerror(errno));
    if (::flock(folder_, LOCK_EX | LOCK_NB) != 0) {
      ::close(folder_);
      throw UsageError("{}: another fetch is at work in it", options.data.string());
    }
  }
  lock_ = tasks::DataLock::Read(lock_file_);
}

Store::~Store() {
  if (folder_ >= 0) ::close(folder_);
}

tasks::FileCheck Store::Check(const Manifest& manifest, const ManifestFile& file) {
  const std::lock_guard guard(mutex_);
  return tasks::VerifyFile(options_.data, manifest, file, lock_);
}

std::optional<std::string> Store::KnownHash(const Manifest& manifest, const ManifestFile& file) {
  if (file.sha256) return file.sha256;
  const std::lock_guard guard(mutex_);
  const LockedFile* locked = lock_.Find(manifest.name, file.path);
  if (locked == nullptr || options_.relock) return std::nullopt;
  return locked->sha256;
}

std::string Store::LockedCommit(const std::string& name) {
  if (options_.relock) return "";
  const std::lock_guard guard(mutex_);
  for (const LockedFile& file : lock_.files()) {
    if (file.name != name || !file.file.starts_with("datasets--")) continue;
    return RevisionOf(file.url);
  }
  return "";
}

void Store::Place(const Manifest& manifest, const ManifestFile& file, const fs::path& partial,
                  const fs::path& target, const std::string& url) {
  const Content content = ContentOf(partial);
  if (file.bytes && *file.bytes != content.bytes) {
    throw WrongBytes(ErrorCode::kData, fmt::format("{}: {} bytes came, expected {}", file.path,
                                                   content.bytes, *file.bytes));
  }
  const std::lock_guard guard(mutex_);
  const LockedFile* locked = lock_.Find(manifest.name, file.path);
  if (file.sha256 && *file.sha256 != content.sha256) {
    throw WrongBytes(ErrorCode::kData, fmt::format("{}: SHA-256 {} came, expected {}", file.path,
                                                   content.sha256, *file.sha256));
  }
  if (!file.sha256 && locked != nullptr && !options_.relock && locked->sha256 != content.sha256) {
    throw WrongBytes(
        ErrorCode::kData,
        fmt::format("{}: SHA-256 {} came, but {} was locked on {}; if the publisher's change is "
                    "wanted, --relock takes it",
                    file.path, content.sha256, locked->sha256, locked->date));
  }
  // The lock first: a file in place that isn't locked could never be told from another.
  if (!file.sha256 && (locked == nullptr || options_.relock)) {
    Lock({manifest.name, file.path, content.bytes, content.sha256, url, Today()});
  }
  Rename(partial, target);
}

void Store::PlaceHubFile(const Manifest& manifest, const std::string& commit, const HubFile& file,
                         const std::string& url) {
  const fs::path entry = options_.data / CacheFolderName(manifest.hub);
  const Content content = [&] {
    // The name says how the bytes are laid out; the blob has none.
    const std::string ending = fs::path(file.path).extension().string();
    if (ending != ".gz" && ending != ".zst") return ContentOf(entry / "blobs" / file.blob);
    const fs::path named = entry / "blobs" / (file.blob + ".named" + ending);
    std::error_code error;
    fs::remove(named, error);
    fs::create_symlink(file.blob, named);
    Content unpacked = ContentOf(named);
    fs::remove(named, error);
    return unpacked;
  }();
  const std::lock_guard guard(mutex_);
  const std::string path =
      fmt::format("{}/snapshots/{}/{}", CacheFolderName(manifest.hub), commit, file.path);
  const LockedFile* locked = lock_.Find(manifest.name, path);
  if (locked == nullptr || options_.relock) {
    Lock({manifest.name, path, content.bytes, content.sha256, url, Today()});
  } else if (locked->sha256 != content.sha256) {
    throw WrongBytes(ErrorCode::kData,
                     fmt::format("{}: SHA-256 {} came, but {} was locked on {}", path,
                                 content.sha256, locked->sha256, locked->date));
  }
  LinkSnapshot(entry, commit, file);
}

void Store::Lock(LockedFile file) {
  tasks::DataLock next = lock_;
  // Of the hub one commit counts: files of another are no longer what is read.
  if (file.file.starts_with("datasets--")) {
    const std::string commit = RevisionOf(file.url);
    for (const LockedFile& old : lock_.files()) {
      const bool other = old.name == file.name && old.file.starts_with("datasets--") &&
                         RevisionOf(old.url) != commit;
      if (other) next.Remove(old.name, old.file);
    }
  }
  next.Put(std::move(file));
  core::WriteFileAtomic(lock_file_, next.ToJson());
  lock_ = std::move(next);
}

}  // namespace natsl::fetch
