// The byte-level alphabet of GPT-2: every byte as a printable character.
#pragma once

#include <string>
#include <string_view>

namespace natsl::model_adapters::tokenizers {

/// The character (code point) that stands for a byte: itself if printable, else 256 and up.
char32_t CharacterOfByte(unsigned char byte);
/// The byte that a character stands for, or -1.
int ByteOfCharacter(char32_t character);

/// Every byte of `bytes` as its character, in UTF-8.
std::string ToByteAlphabet(std::string_view bytes);
/// Appends the bytes that `text` stands for; false (nothing appended) where a character of it
/// isn't of the alphabet.
bool AppendFromByteAlphabet(std::string_view text, std::string& bytes);

}  // namespace natsl::model_adapters::tokenizers
