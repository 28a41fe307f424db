// Character classes as the tokenizers' regular expressions and splitters mean them, over ICU.
#pragma once

#include <cstdint>
#include <string_view>

namespace natsl::model_adapters::tokenizers {

/// The partition of code points that the pre-tokenizers' patterns are written in.
enum class CharClass : uint8_t {
  kOther,   ///< none of the below: [^\s\p{L}\p{N}]
  kLetter,  ///< \p{L}
  kNumber,  ///< \p{N}
  kSpace,   ///< \s (White_Space)
};

CharClass ClassOf(char32_t code_point);

bool IsWhiteSpace(char32_t code_point);   ///< White_Space
bool IsWord(char32_t code_point);         ///< \w: alphabetic, mark, decimal, connector, joiner
bool IsPunctuation(char32_t code_point);  ///< \p{P} or ASCII punctuation
bool IsMark(char32_t code_point);         ///< \p{M}
bool IsNonSpacingMark(char32_t code_point);
bool IsControl(char32_t code_point);  ///< \p{C} but unassigned, and not tab or line ends

/// Decodes the code point at `position` of valid UTF-8 and moves on; no checks.
inline char32_t DecodeNext(std::string_view text, size_t& position) {
  const auto at = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(text[i])); };
  const char32_t lead = at(position);
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  if (lead < 0xE0) {
    position += 2;
    return ((lead & 0x1F) << 6) | (at(position - 1) & 0x3F);
  }
  if (lead < 0xF0) {
    position += 3;
    return ((lead & 0x0F) << 12) | ((at(position - 2) & 0x3F) << 6) | (at(position - 1) & 0x3F);
  }
  position += 4;
  return ((lead & 0x07) << 18) | ((at(position - 3) & 0x3F) << 12) |
         ((at(position - 2) & 0x3F) << 6) | (at(position - 1) & 0x3F);
}

/// Length in bytes of the UTF-8 sequence that starts with `lead`.
inline size_t SequenceLength(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Start of the code point before `position` (> 0) of valid UTF-8.
inline size_t PreviousStart(std::string_view text, size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<uint8_t>(text[position]) & 0xC0) == 0x80);
  return position;
}

bool IsAscii(std::string_view text);
/// Offset of the first malformed UTF-8 sequence or npos; fast on ASCII.
size_t FindInvalid(std::string_view text);

}  // namespace natsl::model_adapters::tokenizers
