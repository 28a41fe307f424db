// Lengths and batch sizes on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::latency {

/// A list with commas of: a number ("512", "32k"; k = 1024, m = 1024 k), a range that is multiplied
/// ("1k-128k*2") or added to ("1k-8k+1k"), both ends included where they are hit. Every part must
/// ascend, and the whole is sorted with repetitions removed. `option` names the text in errors.
/// Throws Error (usage): nothing, below `least`, above 2^30, descending, more than 4096 values.
std::vector<int64_t> ParseLengths(std::string_view text, std::string_view option, int64_t least);

/// Numbers between 0 and 1 with commas, sorted, repetitions removed. Throws Error (usage).
std::vector<double> ParseShares(std::string_view text, std::string_view option);

/// 32768: "32k"; 1000: "1000".
std::string FormatLength(int64_t length);

}  // namespace natsl::latency
