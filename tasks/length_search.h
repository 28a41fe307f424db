// Search for the size of a generated text whose length in tokens comes closest below a target.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace natsl::tasks {

struct FoundSize {
  int64_t size = 0;
  int64_t length = 0;  ///< of that size, in tokens
};

/// What is searched: sizes from `least` to `most`, from `guess` on.
struct LengthSearch {
  int64_t target = 0;
  int64_t guess = 1;
  int64_t least = 1;
  int64_t most = 0;
  double close_enough = 0.98;  ///< stops at a length of this share of the target
};

/// `length_at(size)` is the length of the text of that size, nothing where there is no such text.
/// Larger sizes must be longer, by about the same for each unit; counting is what takes time, so
/// the next size is guessed by the tokens that a unit was measured to cost. Nothing where no size
/// is short enough.
std::optional<FoundSize> FindLength(
    const LengthSearch& search, const std::function<std::optional<int64_t>(int64_t)>& length_at);

}  // namespace natsl::tasks
