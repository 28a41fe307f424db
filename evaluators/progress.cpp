#include "evaluators/progress.h"

#include <fmt/format.h>

#include <utility>

namespace natsl::evaluators {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kLiveEveryNs = kSecondNs / 10;
constexpr int64_t kPlainEveryNs = 5 * kSecondNs;

}  // namespace

std::string FormatDuration(int64_t ns) {
  const int64_t seconds = (ns + kSecondNs / 2) / kSecondNs;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
}

Progress::Progress(ProgressStyle style, const core::Clock& clock,
                   std::function<void(const std::string&)> write)
    : style_(style), clock_(clock), write_(std::move(write)) {}

void Progress::Begin(const std::string& phase, int64_t requests, int64_t weight) {
  phase_ = phase;
  requests_ = requests;
  weight_ = weight;
  done_ = done_weight_ = tokens_ = 0;
  started_ns_ = shown_ns_ = clock_.NowNs();
}

void Progress::Advance(int64_t requests, int64_t weight, int64_t tokens) {
  done_ += requests;
  done_weight_ += weight;
  tokens_ += tokens;
  const int64_t every = style_ == ProgressStyle::kLive ? kLiveEveryNs : kPlainEveryNs;
  if (style_ != ProgressStyle::kQuiet && clock_.NowNs() - shown_ns_ >= every) Show(false);
}

void Progress::End() {
  if (style_ != ProgressStyle::kQuiet) Show(true);
}

void Progress::Note(const std::string& text) {
  if (style_ == ProgressStyle::kQuiet) return;
  write_((line_open_ ? "\n" : "") + text + "\n");
  line_open_ = false;
}

std::string Progress::Line() const {
  const int64_t elapsed_ns = clock_.NowNs() - started_ns_;
  const double seconds = static_cast<double>(elapsed_ns) / static_cast<double>(kSecondNs);
  std::string line = fmt::format("{}: {}/{} requests", phase_, done_, requests_);
  if (tokens_ > 0 && seconds > 0) {
    line += fmt::format(", {:.0f} tokens/s", static_cast<double>(tokens_) / seconds);
  }
  const std::string status = status_.empty() ? "" : "; " + status_;
  if (done_ >= requests_) return line + fmt::format(", {}", FormatDuration(elapsed_ns)) + status;
  // Long requests end in many pieces, nearly together: from the first few an estimate is worthless.
  constexpr int64_t kLeastShare = 50;
  if (done_weight_ * kLeastShare >= weight_ && done_weight_ > 0) {
    const double left = static_cast<double>(weight_ - done_weight_) /
                        static_cast<double>(done_weight_) * static_cast<double>(elapsed_ns);
    line += fmt::format(", {} left", FormatDuration(static_cast<int64_t>(left)));
  }
  return line + status;
}

void Progress::Show(bool last) {
  shown_ns_ = clock_.NowNs();
  if (style_ == ProgressStyle::kLive) {
    write_("\r\x1b[K" + Line() + (last ? "\n" : ""));
    line_open_ = !last;
  } else {
    write_(Line() + "\n");
  }
}

}  // namespace natsl::evaluators
