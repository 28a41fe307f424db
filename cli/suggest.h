// Nearest names, for messages about unknown options and verbs.
#pragma once

#include <string>
#include <vector>

namespace natsl::cli {

/// "; did you mean --limit?", or "" where none of `names` is near.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& names);

}  // namespace natsl::cli
