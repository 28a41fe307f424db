#include "tasks/length_search.h"

#include <algorithm>
#include <cmath>

namespace natsl::tasks {

std::optional<FoundSize> FindLength(
    const LengthSearch& search, const std::function<std::optional<int64_t>(int64_t)>& length_at) {
  // Guesses converge in two or three probes; halves end the search whatever the sizes cost.
  constexpr int kGuesses = 8;
  const auto target = static_cast<double>(search.target);
  std::optional<FoundSize> best;
  int64_t low = search.least, high = search.most;
  int64_t size = std::clamp(search.guess, low, std::max(low, high));
  for (int probe = 1; low <= high; ++probe) {
    const std::optional<int64_t> length = length_at(size);
    double step = 1;
    if (!length && best) {
      high = size - 1;  // more than there is
    } else if (!length) {
      low = size + 1;  // too little to hold what it must
    } else {
      // A tokenizer that knows none of the characters finds nothing in any text.
      const double unit =
          static_cast<double>(std::max<int64_t>(1, *length)) / static_cast<double>(size);
      if (*length <= search.target) {
        if (!best || *length > best->length) best = FoundSize{size, *length};
        if (static_cast<double>(*length) >= search.close_enough * target) break;
        low = size + 1;
        step = std::floor((target - static_cast<double>(*length)) / unit);
      } else {
        high = size - 1;
        // One unit more than measured, so that the next probe fits.
        step = -std::ceil((static_cast<double>(*length) - target) / unit) - 1;
      }
    }
    if (low > high) break;
    size = std::clamp(probe < kGuesses ? size + static_cast<int64_t>(step) : low + (high - low) / 2,
                      low, high);
  }
  return best;
}

}  // namespace natsl::tasks
