#include "evaluators/output_folder.h"

#include <utility>
#include <vector>

#include "core/error.h"
#include "evaluators/journal.h"

namespace natsl::evaluators {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "journal.lock";

}  // namespace

OutputFolder::OutputFolder(fs::path path, bool overwrite) : path_(std::move(path)) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path_, error);
  for (fs::path at = absolute; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    if (at.has_filename()) created_from_ = at;
  }
  fs::create_directories(path_, error);
  if (error) {
    throw UsageError("{}: cannot create the output folder: {}", path_.string(), error.message());
  }
  lock_.emplace(path_, kLockName, core::FolderLock::File::kStays);
  RemoveFiles(/*unfinished_only=*/!overwrite);
  if (!has_journal() && fs::exists(path_ / "results.json", error)) {
    throw UsageError(
        "{}: holds results.json of another run; choose another folder with --output, "
        "or give --overwrite",
        path_.string());
  }
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!has_journal()) {
    fs::remove(lock_->file(), error);
    // Only empty folders go, from the inside out.
    fs::path at = fs::absolute(path_, error);
    while (!created_from_.empty() && fs::remove(at, error) && at != created_from_) {
      at = at.parent_path();
    }
  }
}

bool OutputFolder::has_journal() const {
  std::error_code error;
  return fs::exists(path_ / Journal::kFileName, error);
}

void OutputFolder::RemoveEmptyJournal() const {
  if (!has_journal()) return;
  try {
    if (Journal(path_).Count() > 0) return;
  } catch (const Error&) {
    return;
  }
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::remove(path_ / (std::string(Journal::kFileName) + suffix), error);
  }
}

void OutputFolder::RemoveFiles(bool unfinished_only) const {
  std::error_code error;
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    const bool unfinished = name.ends_with(".tmp");
    const bool of_a_run =
        name.starts_with("journal.sqlite") || name.starts_with("results.json") ||
        name.starts_with("report.md") || name.starts_with("report.html") ||
        name.starts_with("timings.json") ||
        (name.starts_with("samples_") && (unfinished || name.ends_with(".jsonl")));
    if (of_a_run && (unfinished || !unfinished_only)) ours.push_back(entry.path());
  }
  for (const fs::path& file : ours) {
    if (!fs::remove(file, error)) {
      throw UsageError("{}: cannot remove it: {}", file.string(), error.message());
    }
  }
}

}  // namespace natsl::evaluators
