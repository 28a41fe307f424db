// Checked narrowing between integer types.
#pragma once

#include <cstdint>
#include <utility>

#include "core/error.h"

namespace natsl::core {

/// `value` as `To`; an Error (internal) where it doesn't fit.
template <typename To, typename From>
To CheckedCast(From value) {
  if (!std::in_range<To>(value)) {
    throw InternalError("integer {} does not fit in {} bytes", value, sizeof(To));
  }
  return static_cast<To>(value);
}

/// Size of a container as int64_t (always fits on the supported 64-bit platforms).
template <typename Container>
int64_t Size(const Container& container) {
  return static_cast<int64_t>(container.size());
}

}  // namespace natsl::core
