// Ranks of values.
#include "core/statistics/ranks.h"

#include <algorithm>
#include <numeric>

namespace natsl::core::statistics {

Ranks RanksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  Ranks result;
  result.ranks.resize(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {
      result.ranks[order[i]] = 0.5 * static_cast<double>(begin + 1 + end);
    }
    const auto tied = static_cast<double>(end - begin);
    result.tie_term += tied * tied * tied - tied;
    result.ties = result.ties || end - begin > 1;
    begin = end;
  }
  return result;
}

}  // namespace natsl::core::statistics
