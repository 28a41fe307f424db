// Two latency runs point by point, for people and as a gate for CI that fails closed.
#pragma once

#include <string>
#include <vector>

#include "latency/record/measurement.h"

namespace natsl::reports {

enum class LatencyVerdict { kFaster, kSame, kSlower, kAmbiguous, kMissing };
const char* Name(LatencyVerdict verdict);

struct LatencyCompareOptions {
  double tolerance = 0.05;   ///< SAME: the ratio's interval lies within 1 +- this
  double confidence = 0.95;  ///< of the ratio's interval
  uint64_t seed = 0;
  bool force = false;  ///< compare runs that aren't comparable
};

struct PointComparison {
  std::string variant;  ///< "subject", "baseline 1", with the forced share where there is one
  latency::Point point;
  LatencyVerdict verdict = LatencyVerdict::kMissing;
  std::string reason;            ///< of MISSING and AMBIGUOUS
  double base = 0, changed = 0;  ///< medians in seconds
  int64_t base_count = 0, changed_count = 0;
  double ratio = 0;              ///< changed / base: above 1 is slower
  double low = 0, high = 0;      ///< its interval
  int64_t confirmed_rounds = 0;  ///< runs of each side that decided; 0: the files alone
};

struct LatencyComparison {
  std::vector<std::string> differences;  ///< why the runs aren't comparable; compared by force
  std::vector<std::string> problems;     ///< an incomplete run, no point at all: never a pass
  std::vector<std::string> notes;        ///< labels of noise, other weights or versions
  std::vector<PointComparison> points;
};

/// "subject", "baseline 1"; with the forced share where there is one. What pairs variants.
std::string VariantKey(const latency::Variant& variant);

/// Differences in machine, dtype, device, threads or method; empty where two runs are comparable.
std::vector<std::string> Differences(const latency::LatencyRecord& base,
                                     const latency::LatencyRecord& changed);

/// Throws Error (data) with all differences where there are some and `force` isn't set.
LatencyComparison CompareLatency(const latency::LatencyRecord& base,
                                 const latency::LatencyRecord& changed,
                                 const LatencyCompareOptions& options);

/// Sets ratio and verdict of a point from medians of runs that took turns, one pair a round: the
/// geometric mean of their ratios with Student's interval. Needs three rounds at least.
void Confirm(PointComparison& point, const std::vector<double>& base,
             const std::vector<double>& changed, const LatencyCompareOptions& options);

/// 0; 3 for problems and MISSING points, else 1 for SLOWER ones, else 6 for AMBIGUOUS ones.
int Status(const LatencyComparison& comparison);

std::string LatencyComparisonMarkdown(const LatencyComparison& comparison,
                                      const LatencyCompareOptions& options);
std::string LatencyComparisonJunit(const LatencyComparison& comparison);

}  // namespace natsl::reports
