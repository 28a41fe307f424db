// "Did you mean": names at a small edit distance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::tasks {

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
int64_t EditDistance(std::string_view a, std::string_view b);

/// Up to `count` names nearest to `name`, nearest first; those that begin with it or hold it count
/// as near. Empty where none is near.
std::vector<std::string> NearestNames(const std::string& name,
                                      const std::vector<std::string>& names, int64_t count = 3);

}  // namespace natsl::tasks
