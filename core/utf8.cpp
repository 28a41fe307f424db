// UTF-8 and code points.
#include "core/utf8.h"

namespace natsl::core {
namespace {

struct Decoded {
  char32_t code_point;
  size_t length;
  bool valid;
};

/// Table 3-7 of the Unicode standard: well-formed sequences, and how far an ill-formed one reaches.
Decoded Decode(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[position + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {0xFFFD, 1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (position + i >= text.size()) return {0xFFFD, i, false};
    unsigned low = 0x80, high = 0xBF;
    if (i == 1) {
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    const unsigned next = byte(i);
    if (next < low || next > high) return {0xFFFD, i, false};
    value = (value << 6) | (next & 0x3F);
  }
  return {value, length, true};
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    const Decoded decoded = Decode(text, position);
    if (!decoded.valid) return position;
    position += decoded.length;
  }
  return std::string_view::npos;
}

char32_t NextCodePoint(std::string_view text, size_t& position) {
  const Decoded decoded = Decode(text, position);
  position += decoded.length;
  return decoded.code_point;
}

void AppendUtf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out += static_cast<char>(value); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::u32string DecodeUtf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t position = 0; position < text.size();) out += NextCodePoint(text, position);
  return out;
}

std::string EncodeUtf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t code_point : text) AppendUtf8(out, code_point);
  return out;
}

int64_t CountCodePoints(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

bool IsPythonSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string_view PythonLstrip(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    size_t next = position;
    if (!IsPythonSpace(NextCodePoint(text, next))) break;
    position = next;
  }
  return text.substr(position);
}

std::string_view PythonRstrip(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    size_t next = start;
    if (!IsPythonSpace(NextCodePoint(text, next)) || next != end) break;
    end = start;
  }
  return text.substr(0, end);
}

std::string_view PythonStrip(std::string_view text) { return PythonRstrip(PythonLstrip(text)); }

}  // namespace natsl::core
