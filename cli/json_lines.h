// JSONL on stdin and stdout for the verbs that others check us with.
#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace natsl::cli {

/// Calls body(value, "stdin:LINE") for every line that isn't blank. Throws Error (data) where a
/// line isn't JSON, or the stream can't be read to its end.
void ForEachJsonLine(std::istream& in,
                     const std::function<void(nlohmann::ordered_json&, const std::string&)>& body);

}  // namespace natsl::cli
