// Python's repr of strings.
#include <fmt/format.h>
#include <unicode/uchar.h>

#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

/// str.isprintable of one character.
bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (u_charType(static_cast<UChar32>(c))) {
    case U_UNASSIGNED:
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_SPACE_SEPARATOR:
      return false;
    default:
      return true;
  }
}

std::string Escape(char32_t c) {
  const auto value = static_cast<uint32_t>(c);
  if (value < 0x100) return fmt::format("\\x{:02x}", value);
  if (value < 0x10000) return fmt::format("\\u{:04x}", value);
  return fmt::format("\\U{:08x}", value);
}

}  // namespace

std::string PythonRepr(std::string_view text) {
  const bool double_quotes =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t position = 0; position < text.size();) {
    const size_t begin = position;
    const char32_t c = core::NextCodePoint(text, position);
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (IsPrintable(c)) {
      out += text.substr(begin, position - begin);
    } else {
      out += Escape(c);
    }
  }
  return out + quote;
}

std::string PythonRepr(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ", ";
    out += PythonRepr(texts[i]);
  }
  return out + "]";
}

}  // namespace natsl::tasks::metrics
