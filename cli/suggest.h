// Nearest names, for messages about unknown ones.
#pragma once

#include <string>
#include <vector>

namespace natsl::cli {

/// Number of edits (insert, delete, replace, swap of neighbours) between two names.
int EditDistance(const std::string& a, const std::string& b);

/// At most three of `names` that are near to `name`, nearest first.
std::vector<std::string> Nearest(const std::string& name, const std::vector<std::string>& names);

/// "; did you mean --limit?", or "" where nothing is near.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& names);

}  // namespace natsl::cli
