// Python's string methods on UTF-8, by ICU where the Unicode tables decide.
#include "tasks/metrics/python_text.h"

#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "core/utf8.h"

namespace natsl::tasks::metrics {
namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

char AsciiLower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

icu::UnicodeString ToIcu(std::string_view text) {
  return icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

template <typename Keep>
std::string Filter(std::string_view text, const Keep& keep) {
  std::string out;
  out.reserve(text.size());
  for (const char byte : text) {
    if (keep(byte)) out += byte;
  }
  return out;
}

/// Code point that ends at `position` (not 0).
char32_t CodePointBefore(std::string_view text, size_t position) {
  size_t start = position - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return core::NextCodePoint(text, start);
}

bool WordAt(std::string_view text, size_t position) {
  if (position >= text.size()) return false;
  return IsWordCharacter(core::NextCodePoint(text, position));
}

bool WordBefore(std::string_view text, size_t position) {
  return position > 0 && IsWordCharacter(CodePointBefore(text, position));
}

/// Length of an article at `position` that a word boundary follows; 0 for none.
size_t ArticleAt(std::string_view text, size_t position) {
  for (const std::string_view article : {"a", "an", "the"}) {
    if (text.substr(position).starts_with(article) && !WordAt(text, position + article.size())) {
      return article.size();
    }
  }
  return 0;
}

}  // namespace

std::string Lower(std::string_view text) {
  if (IsAscii(text)) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), AsciiLower);
    return out;
  }
  icu::UnicodeString icu_text = ToIcu(text);
  icu_text.toLower(icu::Locale::getRoot());
  std::string out;
  icu_text.toUTF8String(out);
  return out;
}

bool IsAsciiPunctuation(char32_t code_point) {
  return (code_point >= 0x21 && code_point <= 0x2F) || (code_point >= 0x3A && code_point <= 0x40) ||
         (code_point >= 0x5B && code_point <= 0x60) || (code_point >= 0x7B && code_point <= 0x7E);
}

std::string RemoveAsciiPunctuation(std::string_view text) {
  return Filter(text,
                [](char byte) { return !IsAsciiPunctuation(static_cast<unsigned char>(byte)); });
}

std::string RemoveAsciiDigits(std::string_view text) {
  return Filter(text, [](char byte) { return byte < '0' || byte > '9'; });
}

bool IsWordCharacter(char32_t code_point) {
  if (code_point < 0x80) {
    return (code_point >= 'a' && code_point <= 'z') || (code_point >= 'A' && code_point <= 'Z') ||
           (code_point >= '0' && code_point <= '9') || code_point == '_';
  }
  const auto c = static_cast<UChar32>(code_point);
  return u_isalpha(c) != 0 || u_getNumericValue(c) != U_NO_NUMERIC_VALUE;
}

bool IsDecimalDigit(char32_t code_point) {
  if (code_point < 0x80) return code_point >= '0' && code_point <= '9';
  return u_isdigit(static_cast<UChar32>(code_point)) != 0;
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  size_t start = 0, position = 0;
  while (position < text.size()) {
    const size_t before = position;
    if (core::IsPythonSpace(core::NextCodePoint(text, position))) {
      if (before > start) words.emplace_back(text.substr(start, before - start));
      start = position;
    }
  }
  if (start < text.size()) words.emplace_back(text.substr(start));
  return words;
}

std::vector<std::string> SplitOn(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string CollapseWhitespace(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const std::string& word : SplitWords(text)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

std::string ReplaceArticles(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t position = 0; position < text.size();) {
    const char byte = text[position];
    if ((byte == 'a' || byte == 't') && !WordBefore(text, position)) {
      if (const size_t length = ArticleAt(text, position); length > 0) {
        out += ' ';
        position += length;
        continue;
      }
    }
    out += byte;
    ++position;
  }
  return out;
}

std::string NormalizeAnswer(std::string_view text) {
  return CollapseWhitespace(ReplaceArticles(RemoveAsciiPunctuation(Lower(text))));
}

std::vector<std::string> DigitRuns(std::string_view text) {
  std::vector<std::string> runs;
  bool inside = false;
  for (size_t position = 0; position < text.size();) {
    const size_t before = position;
    const bool digit = IsDecimalDigit(core::NextCodePoint(text, position));
    if (digit && !inside) runs.emplace_back();
    if (digit) runs.back() += text.substr(before, position - before);
    inside = digit;
  }
  return runs;
}

char32_t IgnoreCaseKey(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point >= 'A' && code_point <= 'Z' ? code_point + 0x20 : code_point;
  }
  const UChar32 lower = u_tolower(static_cast<UChar32>(code_point));
  icu::UnicodeString upper(lower);
  upper.toUpper(icu::Locale::getRoot());
  if (upper.countChar32() == 1) return static_cast<char32_t>(u_tolower(upper.char32At(0)));
  switch (lower) {  // pairs that share an upper case of several characters
    case 0xFB06:
      return 0xFB05;
    case 0x1FD3:
      return 0x0390;
    case 0x1FE3:
      return 0x03B0;
    default:
      return static_cast<char32_t>(lower);
  }
}

bool ContainsIgnoringCase(std::string_view text, std::string_view needle) {
  const auto fold = [](std::string_view raw) {
    std::u32string keys;
    keys.reserve(raw.size());
    for (size_t position = 0; position < raw.size();) {
      keys += IgnoreCaseKey(core::NextCodePoint(raw, position));
    }
    return keys;
  };
  return fold(text).find(fold(needle)) != std::u32string::npos;
}

}  // namespace natsl::tasks::metrics
