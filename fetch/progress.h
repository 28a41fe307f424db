// How a fetch goes, for people: one live line on a terminal, a plain line every few seconds
// otherwise, nothing when quiet. For several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "core/clock.h"

namespace natsl::fetch {

enum class ProgressStyle { kQuiet, kPlain, kLive };

/// "512 B", "1.5 MB", "12.3 GB".
std::string FormatBytes(int64_t bytes);

class FetchProgress {
 public:
  /// `write` gets the bytes to print. `clock` must outlive this.
  FetchProgress(ProgressStyle style, const core::Clock& clock,
                std::function<void(const std::string&)> write);

  /// More files to come; the first call starts the clock.
  void AddFiles(int64_t files);
  void FileEnded();
  void Advance(int64_t bytes);
  /// A line of its own, kept.
  void Note(const std::string& text);
  void End();

 private:
  void Show(bool last);

  ProgressStyle style_;
  const core::Clock& clock_;
  std::function<void(const std::string&)> write_;
  std::mutex mutex_;
  int64_t files_ = 0, ended_ = 0, bytes_ = 0;
  int64_t started_ns_ = 0, shown_ns_ = 0;
  bool line_open_ = false;
};

}  // namespace natsl::fetch
