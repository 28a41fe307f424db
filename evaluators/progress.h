// The progress of a run for people, on stderr: one live line on a terminal, plain lines every few
// seconds otherwise, nothing when quiet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/clock.h"

namespace natsl::evaluators {

enum class ProgressStyle { kQuiet, kPlain, kLive };

/// "3m05s", "2h04m", "12s".
std::string FormatDuration(int64_t ns);

class Progress {
 public:
  /// `write` gets the bytes to print. `clock` must outlive this.
  Progress(ProgressStyle style, const core::Clock& clock,
           std::function<void(const std::string&)> write);

  /// Starts a phase of `requests` requests that weigh `weight` in all (their bytes: what the time
  /// left is estimated by).
  void Begin(const std::string& phase, int64_t requests, int64_t weight);
  void Advance(int64_t requests, int64_t weight, int64_t tokens);
  /// What stands behind the line from now on: a task and its running score.
  void SetStatus(const std::string& status) { status_ = status; }
  bool quiet() const { return style_ == ProgressStyle::kQuiet; }
  void End();
  /// A line of its own, kept (phases, warnings).
  void Note(const std::string& text);

 private:
  std::string Line() const;
  void Show(bool last);

  ProgressStyle style_;
  const core::Clock& clock_;
  std::function<void(const std::string&)> write_;
  std::string phase_, status_;
  int64_t requests_ = 0, done_ = 0, weight_ = 0, done_weight_ = 0, tokens_ = 0;
  int64_t started_ns_ = 0, shown_ns_ = 0;
  bool line_open_ = false;
};

}  // namespace natsl::evaluators
