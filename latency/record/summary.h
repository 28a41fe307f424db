// Samples to statistics, and variants to ratios, fits and crossovers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "latency/record/measurement.h"

namespace natsl::latency {

/// Samples in any order; an empty summary for none.
Summary Summarize(std::span<const double> samples);

/// Of the samples of one shape that two variants took in the same rounds.
SpeedUp CompareVariants(const Measurement& subject, const Measurement& baseline, uint64_t seed);

/// Fits the growth of one variant's medians over the prompt's length: a + bL + cL^2 over all
/// lengths; the exponent over the longer half of them (at least four where there are), where fixed
/// costs no longer hide the growth.
LengthFit FitLengths(std::span<const Measurement* const> points);

/// Where the subject becomes faster for good, between the shortest and the longest length that
/// both measured.
Crossover FindCrossover(const LengthFit& subject, const LengthFit& baseline, int64_t shortest,
                        int64_t longest);

/// Fills fits, speed_ups and crossovers of a record from its measurements.
void Analyze(LatencyRecord& record);

/// What `--expect linear|quadratic` says of the subject's prefill.
struct ScalingVerdict {
  enum class Outcome { kHolds, kBroken, kUndecided } outcome = Outcome::kUndecided;
  std::string text;
};
/// The exponent may be at most `expected` + 0.15: it holds where the interval's upper end is below
/// that, is broken where the lower end is above, and is undecided otherwise or without an interval.
ScalingVerdict CheckScaling(const LatencyRecord& record, double expected);

}  // namespace natsl::latency
