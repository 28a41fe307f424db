// Removing what Python regular expressions match, with ICU's engine. The character classes and the
// word boundary are rewritten to Python's definitions, which ICU's differ from.
#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <memory>

#include "core/error.h"
#include "tasks/metrics/python_text.h"

namespace natsl::tasks::metrics {
namespace {

constexpr const char* kSpaces =
    "\\u0009-\\u000D\\u001C-\\u0020\\u0085\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F"
    "\\u3000";
constexpr const char* kWord = "\\p{L}\\p{N}_";

/// The pattern with \b \B \w \W \d \D \s \S spelt out.
std::string Rewrite(const std::string& pattern) {
  const std::string word = std::string("[") + kWord + "]";
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\' || i + 1 == pattern.size()) {
      if (c == '[' && !in_class) {
        in_class = true;
      } else if (c == ']' && in_class) {
        in_class = false;
      } else if (c == '[') {
        out += '\\';  // a plain character in Python's classes, a nested class in ICU's
      }
      out += c;
      continue;
    }
    const char escape = pattern[++i];
    const auto set = [&](const char* members, bool negated) {
      out += in_class && !negated ? std::string(members)
                                  : std::string(negated ? "[^" : "[") + members + "]";
    };
    switch (escape) {
      case 'w':
      case 'W':
        set(kWord, escape == 'W');
        break;
      case 's':
      case 'S':
        set(kSpaces, escape == 'S');
        break;
      case 'd':
      case 'D':
        set("\\p{Nd}", escape == 'D');
        break;
      case 'b':
        out += in_class ? "\\u0008"
                        : "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
        break;
      case 'B':
        out += "(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))";
        break;
      default:
        out += c;
        out += escape;
    }
  }
  return out;
}

}  // namespace

struct PatternRemover::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
};

PatternRemover::PatternRemover(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    UParseError where{};
    UErrorCode status = U_ZERO_ERROR;
    Compiled compiled;
    compiled.pattern.reset(icu::RegexPattern::compile(
        icu::UnicodeString::fromUTF8(Rewrite(pattern)), UREGEX_UNIX_LINES, where, status));
    if (U_FAILURE(status)) {
      throw DataError("regular expression '{}': {} at {}", pattern, u_errorName(status),
                      where.offset);
    }
    patterns_.push_back(std::move(compiled));
  }
}

PatternRemover::~PatternRemover() = default;

std::string PatternRemover::operator()(std::string_view text) const {
  icu::UnicodeString current = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  const icu::UnicodeString nothing;
  for (const Compiled& compiled : patterns_) {
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::RegexMatcher> matcher(compiled.pattern->matcher(current, status));
    icu::UnicodeString replaced = matcher->replaceAll(nothing, status);
    if (U_FAILURE(status)) throw DataError("regular expression: {}", u_errorName(status));
    current = std::move(replaced);
  }
  std::string out;
  current.toUTF8String(out);
  return out;
}

}  // namespace natsl::tasks::metrics
