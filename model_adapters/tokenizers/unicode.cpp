// Character classes over ICU.
#include "model_adapters/tokenizers/unicode.h"

#include <unicode/uchar.h>

#include <array>
#include <cstring>
#include <memory>

#include "core/utf8.h"

namespace natsl::model_adapters::tokenizers {
namespace {

CharClass Classify(char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  if (u_isUWhiteSpace(c)) return CharClass::kSpace;
  const uint32_t mask = U_MASK(u_charType(c));
  if (mask & U_GC_L_MASK) return CharClass::kLetter;
  if (mask & U_GC_N_MASK) return CharClass::kNumber;
  return CharClass::kOther;
}

using PlaneTable = std::array<CharClass, 0x10000>;

/// The Basic Multilingual Plane as a table: a lookup in ICU costs several times as much.
const PlaneTable& BasicPlane() {
  static const std::unique_ptr<const PlaneTable> table = [] {
    auto filled = std::make_unique<PlaneTable>();
    for (char32_t c = 0; c < 0x10000; ++c) (*filled)[c] = Classify(c);
    return filled;
  }();
  return *table;
}

bool HasCategory(char32_t code_point, uint32_t mask) {
  return (U_MASK(u_charType(static_cast<UChar32>(code_point))) & mask) != 0;
}

}  // namespace

CharClass ClassOf(char32_t code_point) {
  static const PlaneTable& table = BasicPlane();
  return code_point < 0x10000 ? table[code_point] : Classify(code_point);
}

bool IsWhiteSpace(char32_t code_point) { return ClassOf(code_point) == CharClass::kSpace; }

bool IsWord(char32_t code_point) {
  const auto c = static_cast<UChar32>(code_point);
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         HasCategory(code_point, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK);
}

bool IsPunctuation(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point > 0x20 && code_point < 0x7F && !u_isalnum(static_cast<UChar32>(code_point));
  }
  return HasCategory(code_point, U_GC_P_MASK);
}

bool IsMark(char32_t code_point) { return HasCategory(code_point, U_GC_M_MASK); }
bool IsNonSpacingMark(char32_t code_point) { return HasCategory(code_point, U_GC_MN_MASK); }

bool IsControl(char32_t code_point) {
  if (code_point == '\t' || code_point == '\n' || code_point == '\r') return false;
  return HasCategory(code_point, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK | U_GC_CS_MASK);
}

bool IsAscii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080u) return false;
  }
  for (; i < text.size(); ++i) {
    if (static_cast<uint8_t>(text[i]) >= 0x80) return false;
  }
  return true;
}

size_t FindInvalid(std::string_view text) {
  return IsAscii(text) ? std::string_view::npos : core::FindInvalidUtf8(text);
}

}  // namespace natsl::model_adapters::tokenizers
