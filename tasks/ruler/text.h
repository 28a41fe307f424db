// Small pieces of text that RULER's generators share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/python_random.h"

namespace natsl::tasks::ruler {

inline constexpr std::string_view kNoiseLine =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.";

std::string Join(const std::vector<std::string>& parts, std::string_view separator);
/// "1. a 2. b ..."
std::string Numbered(const std::vector<std::string>& words);
/// `length` letters by choices() from the 26 that start at `first`.
std::string RandomLetters(char first, int64_t length, core::PythonRandom& random);
/// `count` random names; further ones are drawn while fewer than `count` are distinct.
std::vector<std::string> RandomNames(char first, int64_t length, int64_t count,
                                     core::PythonRandom& random);
void ReplaceAll(std::string& text, std::string_view from, std::string_view to);

}  // namespace natsl::tasks::ruler
