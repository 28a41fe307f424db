// The byte-level alphabet.
#include "model_adapters/tokenizers/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "core/utf8.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<int16_t, 512> bytes{};
};

const Alphabet& Tables() {
  static const Alphabet tables = [] {
    Alphabet made;
    made.bytes.fill(-1);
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      const char32_t character = printable ? byte : next++;
      made.characters[byte] = character;
      made.bytes[character] = static_cast<int16_t>(byte);
    }
    return made;
  }();
  return tables;
}

}  // namespace

char32_t CharacterOfByte(unsigned char byte) { return Tables().characters[byte]; }

int ByteOfCharacter(char32_t character) { return character < 512 ? Tables().bytes[character] : -1; }

std::string ToByteAlphabet(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    core::AppendUtf8(out, CharacterOfByte(static_cast<unsigned char>(byte)));
  }
  return out;
}

bool AppendFromByteAlphabet(std::string_view text, std::string& bytes) {
  const size_t before = bytes.size();
  for (size_t i = 0; i < text.size();) {
    const int byte = ByteOfCharacter(DecodeNext(text, i));
    if (byte < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(byte);
  }
  return true;
}

}  // namespace natsl::model_adapters::tokenizers
