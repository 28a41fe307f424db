#include "latency/stopping.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/cast.h"
#include "core/statistics/order_statistics.h"

namespace natsl::latency {
namespace {

double MedianOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return core::statistics::Median(sorted).value();
}

}  // namespace

WarmUp::WarmUp(const WarmUpOptions& options, const core::Clock& clock)
    : options_(options), clock_(clock), started_ns_(clock.NowNs()) {}

void WarmUp::Add(double seconds) {
  runs_.push_back(seconds);
  const auto window = static_cast<size_t>(options_.window);
  const size_t warm = runs_.size() - 1;
  if (warm >= 2 * window && warm % window == 0) {
    const std::span<const double> all(runs_);
    const double before = MedianOf(all.subspan(runs_.size() - 2 * window, window));
    const double now = MedianOf(all.last(window));
    agreed_ = std::fabs(now - before) <= options_.agreement * std::min(now, before);
  }
  const double spent = static_cast<double>(clock_.NowNs() - started_ns_) * 1e-9;
  done_ = agreed_ || core::Size(runs_) >= options_.max_runs || spent >= options_.max_seconds;
}

void SamplingRule::Add(double seconds, double spent_seconds) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), seconds), seconds);
  spent_ += spent_seconds;
  Judge();
}

void SamplingRule::Judge() {
  const int64_t count = core::Size(sorted_);
  const bool at_end = count >= options_.max_samples || spent_ >= options_.max_seconds;
  if (count <= 50 || count % 10 == 0 || at_end) {
    const auto interval = core::statistics::MedianInterval(sorted_);
    if (interval.low.has_value()) {
      const double median = core::statistics::Median(sorted_).value();
      const double wider = std::max(median - interval.low.value(), interval.high.value() - median);
      half_width_ = median > 0 ? wider / median : 0;
    }
  }
  if (count >= options_.min_samples && half_width_ <= options_.interval_target) {
    reason_ = "interval";
  } else if (count >= options_.max_samples) {
    reason_ = "samples";
  } else if (spent_ >= options_.max_seconds &&
             (count >= options_.wished_samples || spent_ >= 3 * options_.max_seconds)) {
    reason_ = "time";
  }
}

}  // namespace natsl::latency
