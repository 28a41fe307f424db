// Hand-written matchers for the regular expressions that byte-level tokenizers split words with:
// a general engine spends most of the time of an encoding on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace natsl::model_adapters::tokenizers {

/// A known pattern. Both forms match every text completely: each match starts where the one before
/// ended.
struct WordPattern {
  enum class Kind : uint8_t {
    kGpt2,    ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    kCl100k,  ///< (?i:'s|...)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n]*|
              ///< \s*[\r\n]+|\s+(?!\S)|\s+ (Llama 3: n = 3, Qwen 2 and 3: n = 1)
  };
  Kind kind = Kind::kGpt2;
  int max_digits = 0;

  /// Where the match that starts at `start` (< size) of valid UTF-8 ends.
  size_t MatchEnd(std::string_view text, size_t start) const;
};

/// The pattern of GPT-2, which the ByteLevel pre-tokenizer implies.
inline constexpr WordPattern kGpt2Pattern{WordPattern::Kind::kGpt2, 0};

/// The matcher for a regular expression, where it is one of the known ones, spelt as they are.
std::optional<WordPattern> FindWordPattern(std::string_view regex);

}  // namespace natsl::model_adapters::tokenizers
