// The matchers follow the alternatives of the patterns in order.
#include "model_adapters/tokenizers/word_patterns.h"

#include <array>
#include <utility>

#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

struct Character {
  char32_t code_point;
  CharClass kind;
  size_t end;
};

constexpr char32_t kLongS = 0x17F;  // folds to "s" where case is ignored

class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text) {}

  Character At(size_t position) const {
    const auto byte = static_cast<uint8_t>(text_[position]);
    if (byte < 0x80) return {byte, kAscii[byte], position + 1};
    size_t end = position;
    const char32_t code_point = DecodeNext(text_, end);
    return {code_point, ClassOf(code_point), end};
  }
  bool IsEnd(size_t position) const { return position >= text_.size(); }

  /// The end of the run of characters of one class from `position` on.
  size_t RunEnd(size_t position, CharClass kind) const {
    while (!IsEnd(position)) {
      const Character next = At(position);
      if (next.kind != kind) break;
      position = next.end;
    }
    return position;
  }

  /// After an apostrophe at `start`: the end of 's, 't, 're, 've, 'm, 'll or 'd, or `start`.
  size_t ContractionEnd(size_t start, bool ignore_case) const {
    const auto letter = [&](size_t position) -> std::pair<char32_t, size_t> {
      if (IsEnd(position)) return {0, position};
      size_t end = position;
      char32_t c = DecodeNext(text_, end);
      if (ignore_case) {
        if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
        if (c == kLongS) c = 's';
      }
      return {c, end};
    };
    const auto [first, first_end] = letter(start + 1);
    switch (first) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return first_end;
      case 'r':
      case 'v': {
        const auto [second, end] = letter(first_end);
        return second == 'e' ? end : start;
      }
      case 'l': {
        const auto [second, end] = letter(first_end);
        return second == 'l' ? end : start;
      }
      default:
        return start;
    }
  }

  /// \s+(?!\S)|\s+ on a run of white space: all of it at the end of the text, else all but its
  /// last character, or that one alone.
  size_t SpaceEnd(size_t start, size_t run_end) const {
    if (IsEnd(run_end)) return run_end;
    const size_t last = PreviousStart(text_, run_end);
    return last > start ? last : run_end;
  }

  std::string_view text() const { return text_; }

 private:
  static constexpr std::array<CharClass, 128> kAscii = [] {
    std::array<CharClass, 128> table{};
    for (size_t c = 0; c < 128; ++c) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool space = c == ' ' || (c >= 9 && c <= 13);
      table[c] = letter                 ? CharClass::kLetter
                 : c >= '0' && c <= '9' ? CharClass::kNumber
                 : space                ? CharClass::kSpace
                                        : CharClass::kOther;
    }
    return table;
  }();

  std::string_view text_;
};

size_t MatchGpt2(const Matcher& text, size_t start) {
  const Character first = text.At(start);
  if (first.code_point == '\'') {
    const size_t end = text.ContractionEnd(start, false);
    if (end != start) return end;
  }
  if (first.kind != CharClass::kSpace) return text.RunEnd(first.end, first.kind);
  if (first.code_point == ' ' && !text.IsEnd(first.end)) {
    const Character second = text.At(first.end);
    if (second.kind != CharClass::kSpace) return text.RunEnd(second.end, second.kind);
  }
  return text.SpaceEnd(start, text.RunEnd(first.end, CharClass::kSpace));
}

bool IsLineEnd(char32_t c) { return c == '\r' || c == '\n'; }

/// [^\s\p{L}\p{N}]+[\r\n]* from a character of that class on.
size_t OtherEnd(const Matcher& text, size_t position) {
  position = text.RunEnd(position, CharClass::kOther);
  while (!text.IsEnd(position) && IsLineEnd(text.At(position).code_point)) ++position;
  return position;
}

size_t MatchCl100k(const Matcher& text, size_t start, int max_digits) {
  const Character first = text.At(start);
  if (first.code_point == '\'') {
    const size_t end = text.ContractionEnd(start, true);
    if (end != start) return end;
  }
  if (first.kind == CharClass::kLetter) return text.RunEnd(first.end, CharClass::kLetter);
  if (first.kind == CharClass::kNumber) {
    size_t end = first.end;
    for (int digits = 1; digits < max_digits && !text.IsEnd(end); ++digits) {
      const Character next = text.At(end);
      if (next.kind != CharClass::kNumber) break;
      end = next.end;
    }
    return end;
  }
  const bool has_second = !text.IsEnd(first.end);
  const Character second = has_second ? text.At(first.end) : Character{0, CharClass::kSpace, 0};
  if (second.kind == CharClass::kLetter && !IsLineEnd(first.code_point)) {
    return text.RunEnd(second.end, CharClass::kLetter);
  }
  if (first.kind == CharClass::kOther) return OtherEnd(text, first.end);
  if (first.code_point == ' ' && second.kind == CharClass::kOther) {
    return OtherEnd(text, second.end);
  }
  const size_t run_end = text.RunEnd(first.end, CharClass::kSpace);
  // \s*[\r\n]+ reaches to the last line end of the run.
  for (size_t end = run_end; end > start; --end) {
    if (IsLineEnd(static_cast<uint8_t>(text.text()[end - 1]))) return end;
  }
  return text.SpaceEnd(start, run_end);
}

}  // namespace

size_t WordPattern::MatchEnd(std::string_view text, size_t start) const {
  const Matcher matcher(text);
  return kind == Kind::kGpt2 ? MatchGpt2(matcher, start) : MatchCl100k(matcher, start, max_digits);
}

std::optional<WordPattern> FindWordPattern(std::string_view regex) {
  using Kind = WordPattern::Kind;
  if (regex == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)") {
    return kGpt2Pattern;
  }
  constexpr std::string_view kContractions = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|)";
  constexpr std::string_view kWords = R"([^\r\n\p{L}\p{N}]?\p{L}+|)";
  constexpr std::string_view kRest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const auto take = [&](std::string_view head) {
    if (!regex.starts_with(head)) return false;
    regex.remove_prefix(head.size());
    return true;
  };
  if (!take(kContractions) || !take(kWords)) return std::nullopt;
  int digits = 0;
  if (take(R"(\p{N}{1,3})")) {
    digits = 3;
  } else if (take(R"(\p{N})")) {
    digits = 1;
  }
  if (digits == 0 || regex != kRest) return std::nullopt;
  return WordPattern{Kind::kCl100k, digits};
}

}  // namespace natsl::model_adapters::tokenizers
