// Literals, word patterns, and ICU's regular expressions: re2 has no lookahead, which the
// tokenizers' patterns need.
#include "model_adapters/tokenizers/pattern.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include "core/json.h"
#include "core/limits.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string literal) : literal_(std::move(literal)) {}

  void Find(std::string_view text, std::vector<Match>& matches) const override {
    matches.clear();
    size_t position = 0;
    while ((position = text.find(literal_, position)) != std::string_view::npos) {
      matches.push_back({position, position + literal_.size()});
      position += literal_.size();
    }
  }

 private:
  std::string literal_;
};

class KnownPattern : public Pattern {
 public:
  explicit KnownPattern(WordPattern pattern) : pattern_(pattern) {}

  void Find(std::string_view text, std::vector<Match>& matches) const override {
    matches.clear();
    for (size_t start = 0; start < text.size();) {
      const size_t end = pattern_.MatchEnd(text, start);
      matches.push_back({start, end});
      start = end;
    }
  }

 private:
  WordPattern pattern_;
};

/// ICU counts work in steps of some thousand; this is about a second.
constexpr int32_t kTimeLimit = 1000;
constexpr int32_t kStackBytes = 16 << 20;

/// Replacements that grow a text (one after the other: exponentially) are stopped here.
constexpr auto kMaxReplaced = static_cast<size_t>(limits::kMaxReplacedBytes);

class IcuPattern : public Pattern {
 public:
  explicit IcuPattern(const std::string& regex) : source_(regex) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError position{};
    // As in the reference's engine, ^ and $ match at lines and "." stops at \n only.
    pattern_.reset(icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(regex),
                                              UREGEX_MULTILINE | UREGEX_UNIX_LINES, position,
                                              status));
    if (U_FAILURE(status)) {
      throw ModelError("the regular expression \"{}\" is not valid at character {}: {}", regex,
                       position.offset, u_errorName(status));
    }
  }

  void Find(std::string_view text, std::vector<Match>& matches) const override {
    matches.clear();
    if (text.size() > INT32_MAX / 2) {
      throw ModelError("a text of {} bytes is too long for a regular expression", text.size());
    }
    icu::UnicodeString units;
    std::vector<uint32_t> offsets;  // byte offset of every UTF-16 unit, and of the end
    Convert(text, units, offsets);
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(units, status));
    if (U_SUCCESS(status)) {
      matcher->setTimeLimit(kTimeLimit, status);
      matcher->setStackLimit(kStackBytes, status);
      while (U_SUCCESS(status) && matcher->find(status)) {
        const auto begin = static_cast<size_t>(matcher->start(status));
        const auto end = static_cast<size_t>(matcher->end(status));
        if (U_FAILURE(status)) break;
        // As in the reference's engine, an empty match right after a match is none.
        const bool repeated =
            begin == end && !matches.empty() && matches.back().end == offsets[end];
        if (!repeated) matches.push_back({offsets[begin], offsets[end]});
      }
    }
    if (U_FAILURE(status)) {
      throw ModelError("the regular expression \"{}\" gave up on a text of {} bytes: {}", source_,
                       text.size(),
                       status == U_REGEX_TIME_OUT ? "it takes too long" : u_errorName(status));
    }
  }

 private:
  static void Convert(std::string_view text, icu::UnicodeString& units,
                      std::vector<uint32_t>& offsets) {
    offsets.reserve(text.size() + 1);
    for (size_t i = 0; i < text.size();) {
      const auto offset = static_cast<uint32_t>(i);
      const char32_t c = DecodeNext(text, i);
      units.append(static_cast<UChar32>(c));
      offsets.push_back(offset);
      if (c > 0xFFFF) offsets.push_back(offset);
    }
    offsets.push_back(static_cast<uint32_t>(text.size()));
  }

  std::string source_;
  std::unique_ptr<icu::RegexPattern> pattern_;
};

}  // namespace

std::unique_ptr<Pattern> MakeLiteralPattern(std::string literal) {
  if (literal.empty()) throw ModelError("the pattern is empty, expected a text to look for");
  return std::make_unique<LiteralPattern>(std::move(literal));
}

std::unique_ptr<Pattern> MakeRegexPattern(const std::string& regex) {
  if (const std::optional<WordPattern> known = FindWordPattern(regex)) {
    return std::make_unique<KnownPattern>(*known);
  }
  return std::make_unique<IcuPattern>(regex);
}

std::unique_ptr<Pattern> MakePattern(const core::Json& pattern, const std::string& where) {
  return InContext(where, [&]() -> std::unique_ptr<Pattern> {
    if (pattern.is_string()) return MakeLiteralPattern(pattern.get<std::string>());
    if (pattern.is_object() && pattern.size() == 1 && pattern.begin()->is_string()) {
      const auto text = pattern.begin()->get<std::string>();
      if (pattern.begin().key() == "String") return MakeLiteralPattern(text);
      if (pattern.begin().key() == "Regex") return MakeRegexPattern(text);
    }
    throw ModelError("the pattern is {}, expected {{\"String\": text}} or {{\"Regex\": text}}",
                     core::Describe(pattern));
  });
}

std::string ReplaceAll(const Pattern& pattern, std::string_view text,
                       std::string_view replacement) {
  std::vector<Match> matches;
  pattern.Find(text, matches);
  std::string out;
  size_t position = 0;
  for (const Match& match : matches) {
    out += text.substr(position, match.begin - position);
    out += replacement;
    if (out.size() > kMaxReplaced) {
      throw ModelError("replacing makes more than {} bytes of a text of {}", kMaxReplaced,
                       text.size());
    }
    position = match.end;
  }
  out += text.substr(position);
  return out;
}

}  // namespace natsl::model_adapters::tokenizers
