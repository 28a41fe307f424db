// Ranks of values, ties sharing their mean rank.
#pragma once

#include <span>
#include <vector>

namespace natsl::core::statistics {

struct Ranks {
  std::vector<double> ranks;  ///< 1-based, in the order of the values
  double tie_term = 0;        ///< sum of t^3 - t over groups of t equal values
  bool ties = false;
};

/// Values without NaN.
Ranks RanksOf(std::span<const double> values);

}  // namespace natsl::core::statistics
