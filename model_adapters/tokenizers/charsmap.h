// sentencepiece's compiled normalization rules ("precompiled_charsmap"): a double-array trie of
// replaced strings and a block of their replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natsl::model_adapters::tokenizers {

class Charsmap {
 public:
  /// Throws Error (model) where the bytes aren't such a map.
  explicit Charsmap(std::string_view bytes);

  /// As Hugging Face's Precompiled normalizer applies it: by grapheme, else by character.
  std::string Apply(std::string_view text) const;

  /// Throws Error (model) where a lookup of some text would lead out of the trie or of the
  /// replacements, for readers that don't check their steps.
  void CheckLookups() const;

 private:
  /// The replacement of the shortest prefix of `chunk` that has one.
  std::optional<std::string_view> Replacement(std::string_view chunk) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // each ends with a zero byte
};

/// Decodes base64; nullopt where the text isn't.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace natsl::model_adapters::tokenizers
