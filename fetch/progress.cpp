#include "fetch/progress.h"

#include <fmt/format.h>

#include <utility>

namespace natsl::fetch {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kLiveEveryNs = kSecondNs / 10;
constexpr int64_t kPlainEveryNs = 5 * kSecondNs;

}  // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

FetchProgress::FetchProgress(ProgressStyle style, const core::Clock& clock,
                             std::function<void(const std::string&)> write)
    : style_(style), clock_(clock), write_(std::move(write)) {}

void FetchProgress::AddFiles(int64_t files) {
  const std::lock_guard lock(mutex_);
  if (started_ns_ == 0) started_ns_ = shown_ns_ = clock_.NowNs();
  files_ += files;
}

void FetchProgress::FileEnded() {
  const std::lock_guard lock(mutex_);
  ++ended_;
  Show(false);
}

void FetchProgress::Advance(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ += bytes;
  Show(false);
}

void FetchProgress::Note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (style_ == ProgressStyle::kQuiet) return;
  write_((line_open_ ? "\n" : "") + text + "\n");
  line_open_ = false;
}

void FetchProgress::End() {
  const std::lock_guard lock(mutex_);
  Show(true);
}

void FetchProgress::Show(bool last) {
  if (style_ == ProgressStyle::kQuiet) return;
  const int64_t now = clock_.NowNs();
  const int64_t every = style_ == ProgressStyle::kLive ? kLiveEveryNs : kPlainEveryNs;
  if (!last && now - shown_ns_ < every) return;
  shown_ns_ = now;
  std::string line = fmt::format("fetch: {}/{} files, {}", ended_, files_, FormatBytes(bytes_));
  if (now > started_ns_ && bytes_ > 0) {
    const double seconds = static_cast<double>(now - started_ns_) / static_cast<double>(kSecondNs);
    line += fmt::format(", {}/s",
                        FormatBytes(static_cast<int64_t>(static_cast<double>(bytes_) / seconds)));
  }
  if (style_ == ProgressStyle::kLive) {
    write_("\r\x1b[K" + line + (last ? "\n" : ""));
    line_open_ = !last;
  } else {
    write_(line + "\n");
  }
}

}  // namespace natsl::fetch
