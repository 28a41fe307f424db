#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace natsl::fuzz {
namespace {

constexpr size_t kLongest = 1 << 16;

/// What replaces a number, a word or a text in quotes.
constexpr std::array<std::string_view, 27> kUnlikely = {"0",
                                                        "-1",
                                                        "1",
                                                        "2147483648",
                                                        "-9223372036854775808",
                                                        "9223372036854775807",
                                                        "18446744073709551615",
                                                        "99999999999999999999999",
                                                        "1e308",
                                                        "-1e999",
                                                        "1e-320",
                                                        "0.5",
                                                        "NaN",
                                                        "-Infinity",
                                                        "null",
                                                        "true",
                                                        "[]",
                                                        "{}",
                                                        "[[[[]]]]",
                                                        "{\"a\": {\"b\": []}}",
                                                        "\"\"",
                                                        "\"a\"",
                                                        "\"../x\"",
                                                        "\"\\u0000\"",
                                                        "\"\\ud800\"",
                                                        "\"\xC3\"",
                                                        "\"\xF0\x9F\x98\x80\""};

size_t Below(size_t limit, std::mt19937_64& random) {
  return limit == 0 ? 0 : static_cast<size_t>(random() % limit);
}

bool IsWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '-' || c == '+' || c == '.' || c == '_';
}

/// A number, word or text in quotes at or behind a random place.
void ReplaceWord(std::string& text, std::mt19937_64& random) {
  size_t begin = Below(text.size(), random);
  while (begin < text.size() && !IsWord(text[begin]) && text[begin] != '"') ++begin;
  size_t end = begin + 1;
  if (begin < text.size() && text[begin] == '"') {
    while (end < text.size() && text[end] != '"') ++end;
    end = std::min(end + 1, text.size());
  } else {
    while (begin > 0 && IsWord(text[begin - 1])) --begin;
    while (end < text.size() && IsWord(text[end])) ++end;
  }
  if (begin >= text.size()) return;
  text.replace(begin, end - begin, kUnlikely[Below(kUnlikely.size(), random)]);
}

void Change(std::string& text, std::string_view other, std::mt19937_64& random) {
  const size_t at = Below(text.size() + 1, random);
  const size_t length = 1 + Below(random() % 4 == 0 ? 256 : 8, random);
  switch (random() % 8) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 2:
      if (at < text.size()) text.erase(at, length);
      break;
    case 3:
      text.insert(at, text.substr(Below(text.size(), random), length));
      break;
    case 4:
      text.insert(at, other.substr(Below(other.size(), random), length));
      break;
    case 5:
      if (random() % 8 == 0) text.resize(at);
      [[fallthrough]];
    default:
      ReplaceWord(text, random);
  }
}

}  // namespace

std::string Mutate(std::string_view input, std::string_view other, std::mt19937_64& random) {
  std::string text(input);
  for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) Change(text, other, random);
  if (text.size() > kLongest) text.resize(kLongest);
  return text;
}

}  // namespace natsl::fuzz
