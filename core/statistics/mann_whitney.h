// Mann and Whitney's test: does one of two independent samples tend to larger values?
#pragma once

#include <span>

#include "core/statistics/estimate.h"
#include "core/statistics/paired_tests.h"

namespace natsl::core::statistics {

enum class Alternative { kTwoSided, kLess, kGreater };

enum class MannWhitneyMethod {
  kExact,       ///< distribution of U without ties (ties are ignored: U is truncated)
  kAsymptotic,  ///< normal, with tie correction
  kAuto,        ///< exact where the smaller sample has at most 8 values and nothing is tied
};

/// U of the first sample (pairs x > y, ties counting half) and its p-value. None for an empty
/// sample or a NaN value; NaN where all values are tied and `continuity` is off.
TestResult MannWhitney(std::span<const double> x, std::span<const double> y,
                       Alternative alternative = Alternative::kTwoSided,
                       MannWhitneyMethod method = MannWhitneyMethod::kAuto, bool continuity = true);

}  // namespace natsl::core::statistics
