#include "reports/latency_compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/cast.h"
#include "core/error.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/order_statistics.h"
#include "core/statistics/regression.h"

namespace natsl::reports {
namespace {

using latency::LatencyRecord;
using latency::Measurement;
using latency::Point;
using latency::Variant;

const Variant* Find(const LatencyRecord& record, const std::string& key) {
  for (const Variant& variant : record.variants) {
    if (VariantKey(variant) == key) return &variant;
  }
  return nullptr;
}

void Differ(const std::string& what, const std::string& base, const std::string& changed,
            std::vector<std::string>& differences) {
  if (base == changed) return;
  differences.push_back(fmt::format("{}: \"{}\" and \"{}\"", what, base, changed));
}

std::string Gpus(const latency::Machine& machine) {
  std::vector<std::string> names;
  for (const latency::GpuDescription& gpu : machine.gpus) names.push_back(gpu.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string GpuIds(const latency::Machine& machine) {
  std::vector<std::string> ids;
  for (const latency::GpuDescription& gpu : machine.gpus) ids.push_back(gpu.uuid);
  return fmt::format("{}", fmt::join(ids, ", "));
}

/// The same machine keeps its name or, as containers of one host do, its boot id.
bool SameMachine(const latency::Machine& base, const latency::Machine& changed) {
  return base.host == changed.host || (!base.boot_id.empty() && base.boot_id == changed.boot_id);
}

using Key = std::tuple<std::string, latency::Phase, int64_t, int64_t, int64_t, int64_t>;

std::map<Key, const Measurement*> ByKey(const LatencyRecord& record) {
  std::map<Key, const Measurement*> points;
  for (const Measurement& measurement : record.measurements) {
    const Point& point = measurement.point;
    points[{VariantKey(record.variants[static_cast<size_t>(measurement.variant)]), point.phase,
            point.batch, point.prompt, point.depth, point.new_tokens}] = &measurement;
  }
  return points;
}

void Judge(PointComparison& point, double tolerance) {
  if (point.high < 1 - tolerance) {
    point.verdict = LatencyVerdict::kFaster;
  } else if (point.low > 1 + tolerance) {
    point.verdict = LatencyVerdict::kSlower;
  } else if (point.low >= 1 - tolerance && point.high <= 1 + tolerance) {
    point.verdict = LatencyVerdict::kSame;
  } else {
    point.verdict = LatencyVerdict::kAmbiguous;
    point.reason = "the interval reaches over the tolerance";
  }
}

PointComparison ComparePoint(const Key& key, const Measurement* base, const Measurement* changed,
                             const LatencyCompareOptions& options) {
  PointComparison point;
  point.variant = std::get<0>(key);
  point.point = (base != nullptr ? base : changed)->point;
  const bool has_base = base != nullptr && !base->samples.empty();
  const bool has_changed = changed != nullptr && !changed->samples.empty();
  if (!has_base || !has_changed) {
    point.reason = fmt::format("not measured in {}", has_base ? "NEW" : "BASE");
    return point;
  }
  point.base = base->summary.median;
  point.changed = changed->summary.median;
  point.base_count = base->summary.count;
  point.changed_count = changed->summary.count;
  const auto ratio = core::statistics::MedianRatio(changed->samples, base->samples,
                                                   options.confidence, 2000, options.seed);
  point.ratio = ratio.ratio.value();
  if (!ratio.interval.low.has_value()) {
    point.low = point.high = point.ratio;
    point.verdict = LatencyVerdict::kAmbiguous;
    point.reason = "fewer than six samples have no interval";
    return point;
  }
  point.low = ratio.interval.low.value();
  point.high = ratio.interval.high.value();
  Judge(point, options.tolerance);
  return point;
}

void NoteLabels(const char* side, const LatencyRecord& record, std::vector<std::string>& notes) {
  for (const std::string& label : record.labels) {
    notes.push_back(fmt::format("{}: {}", side, label));
  }
  int64_t labelled = 0;
  for (const Measurement& measurement : record.measurements) {
    labelled += measurement.labels.empty() ? 0 : 1;
  }
  if (labelled > 0) {
    notes.push_back(fmt::format("{}: {} of {} points are labelled noisy or throttled", side,
                                labelled, record.measurements.size()));
  }
}

}  // namespace

std::string VariantKey(const Variant& variant) {
  return variant.softmax_share ? fmt::format("{}, share {}", variant.role, *variant.softmax_share)
                               : variant.role;
}

const char* Name(LatencyVerdict verdict) {
  switch (verdict) {
    case LatencyVerdict::kFaster:
      return "FASTER";
    case LatencyVerdict::kSame:
      return "SAME";
    case LatencyVerdict::kSlower:
      return "SLOWER";
    case LatencyVerdict::kAmbiguous:
      return "AMBIGUOUS";
    case LatencyVerdict::kMissing:
      return "MISSING";
  }
  return "?";
}

std::vector<std::string> Differences(const LatencyRecord& base, const LatencyRecord& changed) {
  std::vector<std::string> differences;
  const latency::Machine &a = base.machine, &b = changed.machine;
  if (!SameMachine(a, b)) Differ("machine", a.host, b.host, differences);
  Differ("CPU", a.cpu, b.cpu, differences);
  Differ("cores", fmt::format("{}", a.cores), fmt::format("{}", b.cores), differences);
  Differ("GPU", Gpus(a), Gpus(b), differences);
  Differ("method", base.method, changed.method, differences);
  const latency::MethodSettings &s = base.settings, &t = changed.settings;
  Differ("state of a depth", s.depth_state, t.depth_state, differences);
  Differ("ids", s.ids, t.ids, differences);
  Differ("threads", fmt::format("{}", s.threads), fmt::format("{}", t.threads), differences);
  Differ("tokens of a batch", fmt::format("{}", s.batch_tokens), fmt::format("{}", t.batch_tokens),
         differences);
  for (const Variant& variant : base.variants) {
    const Variant* other = Find(changed, VariantKey(variant));
    if (other == nullptr) continue;
    Differ(VariantKey(variant) + "'s dtype", variant.dtype, other->dtype, differences);
    Differ(VariantKey(variant) + "'s device", variant.device, other->device, differences);
  }
  return differences;
}

LatencyComparison CompareLatency(const LatencyRecord& base, const LatencyRecord& changed,
                                 const LatencyCompareOptions& options) {
  LatencyComparison comparison;
  comparison.differences = Differences(base, changed);
  if (!comparison.differences.empty() && !options.force) {
    throw DataError("the runs are not comparable: {}; --force compares them all the same",
                    fmt::join(comparison.differences, "; "));
  }
  for (const auto& [side, record] : {std::pair("BASE", &base), std::pair("NEW", &changed)}) {
    if (!record->complete) {
      comparison.problems.push_back(
          fmt::format("{} is incomplete: {}", side, record->incomplete_because));
    }
    NoteLabels(side, *record, comparison.notes);
  }
  for (const Variant& variant : base.variants) {
    const Variant* other = Find(changed, VariantKey(variant));
    if (other != nullptr && other->weights_fingerprint != variant.weights_fingerprint) {
      comparison.notes.push_back(fmt::format("{}: other weights ({} and {})", VariantKey(variant),
                                             variant.model, other->model));
    }
  }
  if (GpuIds(base.machine) != GpuIds(changed.machine)) {
    comparison.notes.emplace_back("the GPUs are of one kind, but not the same ones");
  }
  const auto points = ByKey(base), others = ByKey(changed);
  for (const auto& [key, measurement] : points) {
    const auto other = others.find(key);
    comparison.points.push_back(
        ComparePoint(key, measurement, other == others.end() ? nullptr : other->second, options));
  }
  for (const auto& [key, measurement] : others) {
    if (points.contains(key)) continue;
    comparison.points.push_back(ComparePoint(key, nullptr, measurement, options));
  }
  if (comparison.points.empty()) comparison.problems.emplace_back("neither run has a point");
  return comparison;
}

void Confirm(PointComparison& point, const std::vector<double>& base,
             const std::vector<double>& changed, const LatencyCompareOptions& options) {
  if (base.size() != changed.size() || base.size() < 3) {
    throw InternalError("a confirmation needs three pairs at least, there are {} and {}",
                        base.size(), changed.size());
  }
  std::vector<double> logs;
  for (size_t i = 0; i < base.size(); ++i) logs.push_back(std::log(changed[i] / base[i]));
  const auto n = static_cast<double>(logs.size());
  const double mean = core::statistics::Mean(logs).value();
  const double half = core::statistics::StudentQuantile(1 - options.confidence, n - 1) *
                      core::statistics::SampleDeviation(logs).value() / std::sqrt(n);
  point.ratio = std::exp(mean);
  point.low = std::exp(mean - half);
  point.high = std::exp(mean + half);
  point.confirmed_rounds = core::Size(logs);
  point.reason.clear();
  Judge(point, options.tolerance);
}

int Status(const LatencyComparison& comparison) {
  const auto any = [&](LatencyVerdict verdict) {
    return std::any_of(comparison.points.begin(), comparison.points.end(),
                       [&](const PointComparison& point) { return point.verdict == verdict; });
  };
  if (!comparison.problems.empty() || comparison.points.empty() || any(LatencyVerdict::kMissing)) {
    return static_cast<int>(ErrorCode::kData);
  }
  if (any(LatencyVerdict::kSlower)) return static_cast<int>(ErrorCode::kRegression);
  if (any(LatencyVerdict::kAmbiguous)) return static_cast<int>(ErrorCode::kInconclusive);
  return 0;
}

}  // namespace natsl::reports
