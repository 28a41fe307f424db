// What splitters and replacers look for: a literal string, a known word pattern, or any regular
// expression.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/tokenizers/word_patterns.h"

namespace natsl::model_adapters::tokenizers {

struct Match {
  size_t begin, end;
};

/// Thread safe after construction.
class Pattern {
 public:
  virtual ~Pattern() = default;
  /// Replaces `matches` by the matches in `text` (valid UTF-8), left to right. Regular
  /// expressions may match the empty text between two characters.
  virtual void Find(std::string_view text, std::vector<Match>& matches) const = 0;
};

/// Throws Error (model) where the literal is empty.
std::unique_ptr<Pattern> MakeLiteralPattern(std::string literal);
/// Throws Error (model) where the expression is not valid. Find throws Error (model) where the
/// expression takes too long or too much memory on a text.
std::unique_ptr<Pattern> MakeRegexPattern(const std::string& regex);
/// {"String": "..."} or {"Regex": "..."}, or a bare string (a literal). `where` names the field.
std::unique_ptr<Pattern> MakePattern(const nlohmann::ordered_json& pattern,
                                     const std::string& where);

/// `text` with every match replaced.
std::string ReplaceAll(const Pattern& pattern, std::string_view text, std::string_view replacement);

}  // namespace natsl::model_adapters::tokenizers
