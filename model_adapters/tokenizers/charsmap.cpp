// The trie is the one of the Darts-clone library; nothing in it is trusted, every step is checked.
#include "model_adapters/tokenizers/charsmap.h"

#include <unicode/brkiter.h>
#include <unicode/unistr.h>

#include <cstring>

#include "core/error.h"
#include "core/utf8.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

constexpr size_t kMaxGrapheme = 6;  // bytes; longer ones are replaced character by character

uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
uint32_t Label(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }

/// Calls visit(grapheme) for the grapheme clusters of a text.
template <typename Visit>
void Graphemes(std::string_view text, Visit&& visit) {
  if (IsAscii(text)) {
    for (size_t i = 0; i < text.size();) {
      const size_t length = text.substr(i, 2) == "\r\n" ? 2 : 1;
      visit(text.substr(i, length));
      i += length;
    }
    return;
  }
  const icu::UnicodeString units = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  if (U_FAILURE(status)) throw InternalError("ICU grapheme breaks: {}", u_errorName(status));
  breaks->setText(units);
  size_t begin = 0, position = 0;
  int32_t unit = 0;
  for (int32_t end = breaks->next(); end != icu::BreakIterator::DONE; end = breaks->next()) {
    while (unit < end) unit += DecodeNext(text, position) > 0xFFFF ? 2 : 1;
    visit(text.substr(begin, position - begin));
    begin = position;
  }
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes) {
  uint32_t trie_bytes = 0;
  if (bytes.size() < sizeof(trie_bytes)) {
    throw ModelError("precompiled_charsmap has {} bytes, expected at least 4", bytes.size());
  }
  std::memcpy(&trie_bytes, bytes.data(), sizeof(trie_bytes));
  bytes.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > bytes.size()) {
    throw ModelError("precompiled_charsmap says that its trie has {} bytes, {} follow", trie_bytes,
                     bytes.size());
  }
  units_.resize(trie_bytes / 4);
  std::memcpy(units_.data(), bytes.data(), trie_bytes);
  replacements_ = bytes.substr(trie_bytes);
  if (!core::IsValidUtf8(replacements_)) {
    throw ModelError("precompiled_charsmap: the replacements are not valid UTF-8");
  }
}

std::optional<std::string_view> Charsmap::Replacement(std::string_view chunk) const {
  uint32_t node = Offset(units_[0]);
  for (const char c : chunk) {
    const uint32_t byte = static_cast<uint8_t>(c);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size() || Label(units_[node]) != byte) return std::nullopt;
    const uint32_t unit = units_[node];
    node ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    const uint32_t start = Value(units_[node]);
    if (start >= replacements_.size()) return std::nullopt;
    if ((static_cast<uint8_t>(replacements_[start]) & 0xC0) == 0x80) return std::nullopt;
    const std::string_view rest = std::string_view(replacements_).substr(start);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

void Charsmap::CheckLookups() const {
  const auto require = [](bool holds) {
    if (!holds) throw ModelError("precompiled_charsmap leads out of its own trie");
  };
  require(replacements_.ends_with('\0'));
  std::vector<bool> seen(units_.size());
  std::vector<uint32_t> open = {Offset(units_[0])};
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    // Any byte may be looked up next.
    require((node | 0xFF) < units_.size());
    if (seen[node]) continue;
    seen[node] = true;
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const uint32_t unit = units_[node ^ byte];
      if (Label(unit) != byte) continue;
      const uint32_t child = node ^ byte ^ Offset(unit);
      require(child < units_.size());
      if (HasLeaf(unit)) require(Value(units_[child]) < replacements_.size());
      open.push_back(child);
    }
  }
}

std::string Charsmap::Apply(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  Graphemes(text, [&](std::string_view grapheme) {
    if (grapheme.size() < kMaxGrapheme) {
      if (const auto replacement = Replacement(grapheme)) {
        out += *replacement;
        return;
      }
    }
    for (size_t i = 0; i < grapheme.size();) {
      const std::string_view character = grapheme.substr(i, SequenceLength(grapheme[i]));
      out += Replacement(character).value_or(character);
      i += character.size();
    }
  });
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    uint32_t value;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<uint32_t>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return std::nullopt;
    }
    bits = bits << 6 | value;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return out;
}

}  // namespace natsl::model_adapters::tokenizers
