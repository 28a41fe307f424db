// Reading JSON that others wrote with nlohmann's own accessors: a value of the wrong kind becomes
// an Error like any other.
#pragma once

#include <string_view>
#include <utility>

#include "core/json.h"

namespace natsl::core {

/// Runs `read`; nlohmann's exception that leaves it becomes Error(code) "where: not of the expected
/// form: ...".
template <typename Read>
decltype(auto) WithJsonErrors(std::string_view where, ErrorCode code, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const Json::exception& error) {
    // The library's text starts with "[json.exception.type_error.302] ".
    std::string_view reason = error.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    throw Error(code, fmt::format("{}: not of the expected form: {}", where, reason));
  }
}

}  // namespace natsl::core
