// Checks of kernel arguments: a wrong argument is a fault of the caller's code, reported by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace natsl::kernels {

/// Throws an internal error with the formatted message unless `ok`.
template <typename... Args>
void Require(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) throw InternalError(format, std::forward<Args>(args)...);
}

/// Requires sequences >= 0 and `sequences` + 1 offsets that start at >= 0 and never decrease.
inline void RequireOffsets(std::string_view op, const int64_t* offsets, int64_t sequences) {
  Require(sequences >= 0, "{}: sequences is {}, expected >= 0", op, sequences);
  if (sequences == 0) return;
  Require(offsets != nullptr, "{}: offsets is null, expected {} offsets", op, sequences + 1);
  Require(offsets[0] >= 0, "{}: offsets[0] is {}, expected >= 0", op, offsets[0]);
  for (int64_t s = 0; s < sequences; ++s) {
    Require(offsets[s] <= offsets[s + 1], "{}: offsets[{}] is {}, expected >= offsets[{}] = {}", op,
            s + 1, offsets[s + 1], s, offsets[s]);
  }
}

}  // namespace natsl::kernels
