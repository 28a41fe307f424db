// When to stop warming up and when to stop sampling. The rules see durations and a clock only.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/clock.h"

namespace natsl::latency {

struct WarmUpOptions {
  int64_t window = 3;       ///< runs of a window
  double agreement = 0.05;  ///< windows agree: their medians differ by at most this
  int64_t max_runs = 30;
  double max_seconds = 5;  ///< of the warm-up, from its first run on
};

/// The first run is the cold one and belongs to no window. Done when the medians of two windows in
/// a row agree, or at a limit.
class WarmUp {
 public:
  /// `clock` outlives it and starts to count now.
  WarmUp(const WarmUpOptions& options, const core::Clock& clock);

  void Add(double seconds);
  bool done() const { return done_; }
  bool agreed() const { return agreed_; }
  const std::vector<double>& runs() const { return runs_; }  ///< the cold one first

 private:
  WarmUpOptions options_;
  const core::Clock& clock_;
  int64_t started_ns_;
  std::vector<double> runs_;
  bool done_ = false, agreed_ = false;
};

struct StoppingOptions {
  double interval_target = 0.01;  ///< half the 95 % interval of the median over the median
  int64_t min_samples = 6;        ///< fewer have no such interval
  int64_t max_samples = 2000;
  double max_seconds = 10;  ///< of the clock, with what samples prepare outside of their time
  /// Samples wanted even where they take longer than max_seconds, as long as the whole stays below
  /// three times that.
  int64_t wished_samples = 3;
};

/// Done when the median's interval is narrow enough, or at a limit. Judged after every sample up to
/// 50, then every tenth, so that looking often doesn't cost.
class SamplingRule {
 public:
  explicit SamplingRule(const StoppingOptions& options) : options_(options) {}

  /// `seconds`: the sample. `spent_seconds`: what it took of the clock, with its preparation.
  void Add(double seconds, double spent_seconds);
  bool done() const { return !reason_.empty(); }
  /// "interval", "samples", "time"; "" while it goes on.
  const std::string& reason() const { return reason_; }
  /// As of the last judgement; infinite where there is no interval yet.
  double half_width() const { return half_width_; }

 private:
  void Judge();

  StoppingOptions options_;
  std::vector<double> sorted_;
  double spent_ = 0;
  double half_width_ = std::numeric_limits<double>::infinity();
  std::string reason_;
};

}  // namespace natsl::latency
