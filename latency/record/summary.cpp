#include "latency/record/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/cast.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/order_statistics.h"
#include "core/statistics/regression.h"
#include "latency/record/lengths.h"

namespace natsl::latency {
namespace {

namespace statistics = core::statistics;

std::optional<double> ToOptional(const statistics::Estimate& estimate) {
  if (!estimate.has_value() || !std::isfinite(estimate.value())) return std::nullopt;
  return estimate.value();
}

double At(const LengthFit& fit, double length) {
  return fit.a + fit.b * length + fit.c * length * length;
}

bool Grows(Phase phase) { return phase == Phase::kPrefill || phase == Phase::kFirstToken; }

}  // namespace

Summary Summarize(std::span<const double> samples) {
  Summary summary;
  summary.count = core::Size(samples);
  if (samples.empty()) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.median = statistics::Median(sorted).value();
  summary.minimum = sorted.front();
  summary.maximum = sorted.back();
  summary.mean = statistics::Mean(sorted).value();
  summary.deviation = ToOptional(statistics::SampleDeviation(sorted)).value_or(0);
  const statistics::Interval interval = statistics::MedianInterval(sorted);
  summary.low = ToOptional(interval.low);
  summary.high = ToOptional(interval.high);
  summary.p90 = ToOptional(statistics::SupportedQuantile(sorted, 0.9));
  summary.p99 = ToOptional(statistics::SupportedQuantile(sorted, 0.99));
  return summary;
}

SpeedUp CompareVariants(const Measurement& subject, const Measurement& baseline, uint64_t seed) {
  SpeedUp result{.point = subject.point,
                 .variant = subject.variant,
                 .baseline = baseline.variant,
                 .ratio = 0,
                 .low = {},
                 .high = {}};
  std::map<int64_t, double> by_round;
  for (size_t i = 0; i < baseline.samples.size(); ++i) {
    by_round[baseline.rounds[i]] = baseline.samples[i];
  }
  std::vector<double> above, below;
  for (size_t i = 0; i < subject.samples.size(); ++i) {
    const auto found = by_round.find(subject.rounds[i]);
    if (found == by_round.end()) continue;
    above.push_back(found->second);
    below.push_back(subject.samples[i]);
  }
  const auto ratio = statistics::PairedMedianRatio(above, below, 0.95, 2000, seed);
  result.ratio = ToOptional(ratio.ratio).value_or(0);
  result.low = ToOptional(ratio.interval.low);
  result.high = ToOptional(ratio.interval.high);
  return result;
}

LengthFit FitLengths(std::span<const Measurement* const> points) {
  LengthFit fit;
  if (points.empty()) return fit;
  fit.variant = points.front()->variant;
  fit.phase = points.front()->point.phase;
  fit.batch = points.front()->point.batch;
  std::vector<std::pair<double, double>> pairs;
  for (const Measurement* point : points) {
    if (point->summary.count == 0 || !(point->summary.median > 0)) continue;
    pairs.emplace_back(static_cast<double>(point->point.prompt), point->summary.median);
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<double> x, y;
  for (const auto& [length, seconds] : pairs) {
    x.push_back(length);
    y.push_back(seconds);
  }
  const statistics::QuadraticFit quadratic = statistics::FitQuadratic(x, y);
  fit.valid = quadratic.valid;
  if (fit.valid) {
    fit.a = quadratic.coefficients[0];
    fit.b = quadratic.coefficients[1];
    fit.c = quadratic.coefficients[2];
    fit.largest_error = quadratic.largest_error;
  }
  const size_t kept = std::min(x.size(), std::max<size_t>(4, (x.size() + 1) / 2));
  if (kept < 2) return fit;
  const std::span<const double> long_x = std::span(x).last(kept), long_y = std::span(y).last(kept);
  const statistics::PowerFit power = statistics::FitPower(long_x, long_y);
  fit.exponent = ToOptional(power.exponent);
  fit.exponent_low = ToOptional(power.interval.low);
  fit.exponent_high = ToOptional(power.interval.high);
  fit.exponent_points = core::Size(long_x);
  fit.exponent_from = static_cast<int64_t>(long_x.front());
  return fit;
}

Crossover FindCrossover(const LengthFit& subject, const LengthFit& baseline, int64_t shortest,
                        int64_t longest) {
  Crossover result{.variant = subject.variant,
                   .baseline = baseline.variant,
                   .phase = subject.phase,
                   .batch = subject.batch,
                   .length = {},
                   .text = "too few lengths for a fit"};
  if (!subject.valid || !baseline.valid) return result;
  const auto faster = [&](double length) { return At(subject, length) < At(baseline, length); };
  const auto low = static_cast<double>(shortest), high = static_cast<double>(longest);
  if (!faster(high)) {
    result.text = faster(low) ? "faster at short lengths only" : "at no length measured";
    return result;
  }
  // The difference is a parabola: walk down from the longest length to its first change of sign.
  constexpr int kSteps = 4096;
  double above = high;
  for (int i = 1; i <= kSteps; ++i) {
    const double at = high * std::pow(low / high, static_cast<double>(i) / kSteps);
    if (!faster(at)) {
      double below = at;
      for (int j = 0; j < 60; ++j) {
        const double middle = (below + above) / 2;
        (faster(middle) ? above : below) = middle;
      }
      result.length = above;
      result.text = fmt::format("beyond {:.0f} tokens", above);
      return result;
    }
    above = at;
  }
  result.length = low;
  result.text = "at every length measured";
  return result;
}

void Analyze(LatencyRecord& record) {
  record.fits.clear();
  record.speed_ups.clear();
  record.crossovers.clear();
  std::map<std::tuple<Phase, int64_t, int64_t>, std::vector<const Measurement*>> groups;
  for (const Measurement& measurement : record.measurements) {
    if (measurement.samples.empty() || !Grows(measurement.point.phase)) continue;
    groups[{measurement.point.phase, measurement.point.batch, measurement.variant}].push_back(
        &measurement);
  }
  for (const auto& [key, points] : groups) record.fits.push_back(FitLengths(points));
  const auto is_baseline = [&](int64_t variant) {
    return record.variants[static_cast<size_t>(variant)].role != "subject";
  };
  for (const Measurement& subject : record.measurements) {
    if (is_baseline(subject.variant) || subject.samples.empty()) continue;
    for (const Measurement& baseline : record.measurements) {
      if (!is_baseline(baseline.variant) || !(baseline.point == subject.point)) continue;
      if (baseline.samples.empty()) continue;
      record.speed_ups.push_back(CompareVariants(subject, baseline, record.settings.seed));
    }
  }
  for (const LengthFit& subject : record.fits) {
    if (is_baseline(subject.variant)) continue;
    for (const LengthFit& baseline : record.fits) {
      if (!is_baseline(baseline.variant) || baseline.phase != subject.phase ||
          baseline.batch != subject.batch) {
        continue;
      }
      std::set<int64_t> lengths;
      for (const Measurement* point : groups[{subject.phase, subject.batch, subject.variant}]) {
        for (const Measurement* other :
             groups[{baseline.phase, baseline.batch, baseline.variant}]) {
          if (point->point == other->point) lengths.insert(point->point.prompt);
        }
      }
      if (lengths.empty()) continue;
      record.crossovers.push_back(
          FindCrossover(subject, baseline, *lengths.begin(), *lengths.rbegin()));
    }
  }
}

ScalingVerdict CheckScaling(const LatencyRecord& record, double expected) {
  constexpr double kRoom = 0.15;
  using Outcome = ScalingVerdict::Outcome;
  const double most = expected + kRoom;
  ScalingVerdict verdict;
  bool any = false, undecided = false, broken = false;
  for (const LengthFit& fit : record.fits) {
    const Variant& variant = record.variants[static_cast<size_t>(fit.variant)];
    if (fit.phase != Phase::kPrefill || variant.role != "subject") continue;
    any = true;
    const std::string name =
        fit.batch == 1 ? variant.label : fmt::format("{}, batch {}", variant.label, fit.batch);
    if (!fit.exponent || !fit.exponent_low || !fit.exponent_high) {
      undecided = true;
      verdict.text +=
          fmt::format("{}: an exponent with an interval needs three prompt lengths\n", name);
      continue;
    }
    const char* word = *fit.exponent_high <= most ? "holds"
                       : *fit.exponent_low > most ? "BROKEN"
                                                  : "undecided";
    broken |= *fit.exponent_low > most;
    undecided |= *fit.exponent_low <= most && *fit.exponent_high > most;
    verdict.text += fmt::format(
        "{}: prefill grows as L^{:.3f} [{:.3f}, {:.3f}] over {} lengths from {} on; at most {:.2f} "
        "is expected: {}\n",
        name, *fit.exponent, *fit.exponent_low, *fit.exponent_high, fit.exponent_points,
        FormatLength(fit.exponent_from), most, word);
  }
  if (!any) verdict.text = "no prefill was measured\n";
  verdict.outcome = broken              ? Outcome::kBroken
                    : undecided || !any ? Outcome::kUndecided
                                        : Outcome::kHolds;
  return verdict;
}

}  // namespace natsl::latency
