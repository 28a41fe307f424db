// Python's float(str) and str(float).
#include <unicode/uchar.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/json.h"
#include "core/utf8.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsCSpace(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/// Unicode digits to ASCII, white space to a space, anything else that isn't ASCII to "?", as
/// CPython prepares a string. Pure ASCII stays as it is.
std::string ToAscii(std::string_view text) {
  bool ascii = true;
  std::string out;
  for (size_t position = 0; position < text.size();) {
    const char32_t c = core::NextCodePoint(text, position);
    if (c >= 0x80) ascii = false;
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (core::IsPythonSpace(c)) {
      out += ' ';
    } else if (IsDecimalDigit(c)) {
      out += static_cast<char>('0' + u_charDigitValue(static_cast<UChar32>(c)));
    } else {
      out += '?';
    }
  }
  return ascii ? std::string(text) : out;
}

/// Length of a number without sign at the start of `text`: digits [. digits] [e [sign] digits].
size_t NumberLength(std::string_view text) {
  size_t i = 0;
  size_t digits = 0;
  const auto read_digits = [&] {
    size_t count = 0;
    for (; i < text.size() && IsDigit(text[i]); ++i) ++count;
    return count;
  };
  digits += read_digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    digits += read_digits();
  }
  if (digits == 0) return 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const size_t mark = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (read_digits() == 0) i = mark;
  }
  return i;
}

/// Most words can't be numbers, which their first character already tells (Unicode digits and white
/// space begin with a byte of 0x80 or more).
bool MayBeNumber(std::string_view text) {
  size_t i = 0;
  while (i < text.size() && (IsCSpace(text[i]) || (text[i] >= 0x1C && text[i] <= 0x1F))) ++i;
  if (i == text.size()) return false;
  const char c = text[i];
  return IsDigit(c) || c == '+' || c == '-' || c == '.' || c == 'i' || c == 'I' || c == 'n' ||
         c == 'N' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::optional<double> PythonFloat(std::string_view raw) {
  if (!MayBeNumber(raw)) return std::nullopt;
  std::string text = ToAscii(raw);
  size_t begin = 0, end = text.size();
  while (begin < end && IsCSpace(text[begin])) ++begin;
  while (end > begin && IsCSpace(text[end - 1])) --end;
  text = text.substr(begin, end - begin);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !IsDigit(text[i - 1]) || !IsDigit(text[i + 1])) {
      return std::nullopt;
    }
  }
  std::string_view body = plain;
  const bool negative = !body.empty() && body[0] == '-';
  if (!body.empty() && (body[0] == '-' || body[0] == '+')) body.remove_prefix(1);
  const std::string lower = Lower(body);
  double value = 0;
  if (lower == "inf" || lower == "infinity") {
    value = HUGE_VAL;
  } else if (lower == "nan") {
    value = std::nan("");
  } else if (!body.empty() && NumberLength(body) == body.size()) {
    value = std::strtod(std::string(body).c_str(), nullptr);
  } else {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::string PythonFloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return core::PythonJson(core::Json(value));
}

}  // namespace natsl::tasks::metrics
