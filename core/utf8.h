// UTF-8 and code points: decoding, encoding, validation, and Python's notion of white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace natsl::core {

/// Byte offset of the first malformed sequence (overlong, surrogate, out of range, cut), or npos.
size_t FindInvalidUtf8(std::string_view text);
inline bool IsValidUtf8(std::string_view text) {
  return FindInvalidUtf8(text) == std::string_view::npos;
}

/// Decodes the code point at `position` and moves it on. Malformed input gives U+FFFD and moves one
/// maximal ill-formed subsequence (as Unicode recommends and Python's errors="replace" does).
char32_t NextCodePoint(std::string_view text, size_t& position);

void AppendUtf8(std::string& out, char32_t code_point);
std::u32string DecodeUtf8(std::string_view text);  ///< malformed input becomes U+FFFD
std::string EncodeUtf8(std::u32string_view text);
/// Number of code points of valid UTF-8: Python's len(str).
int64_t CountCodePoints(std::string_view text);

/// Python's str.isspace and the regular expression \s: exactly 29 code points.
bool IsPythonSpace(char32_t code_point);
/// Python's str.strip(), lstrip(), rstrip().
std::string_view PythonStrip(std::string_view text);
std::string_view PythonLstrip(std::string_view text);
std::string_view PythonRstrip(std::string_view text);

}  // namespace natsl::core
