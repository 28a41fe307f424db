// Tokens beside the model's vocabulary, or of it, that are found in a text before anything else:
// special tokens and others that users added.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model_adapters/tokenizers/byte_trie.h"
#include "model_adapters/tokenizers/normalizers.h"
#include "model_adapters/tokenizers/token_table.h"

namespace natsl::model_adapters::tokenizers {

struct AddedToken {
  TokenId id = -1;
  std::string content;
  std::string matched;       ///< content, normalized where `normalized`
  bool single_word = false;  ///< not inside of a word
  bool lstrip = false;       ///< takes white space on its left with it
  bool rstrip = false;       ///< and on its right
  bool normalized = false;   ///< found in the normalized text, else in the raw one
  bool special = false;      ///< left out of decoded text on request
};

/// The fields of one entry of "added_tokens" (or "added_tokens_decoder", without an id).
AddedToken ReadAddedToken(const nlohmann::ordered_json& json, const std::string& where);

class AddedTokens {
 public:
  /// Throws Error (model) where the token's id isn't the one the model has for it, or, for a token
  /// that the model doesn't have, the next free one.
  void Add(AddedToken token, const TokenTable& model, const Normalizer* normalizer);

  /// Cuts a text: calls text(begin, end) for what lies between tokens (never empty) and token(id)
  /// for each token found, in order. `normalized` chooses which tokens are looked for.
  template <typename OnText, typename OnToken>
  void Cut(std::string_view text, bool normalized, OnText&& on_text, OnToken&& on_token) const;

  const AddedToken* Find(TokenId id) const;
  std::optional<TokenId> IdOf(std::string_view content) const;
  int64_t id_limit() const { return id_limit_; }
  bool empty() const { return tokens_.empty(); }

 private:
  struct Found {
    size_t begin, end;
    TokenId id;
  };
  /// Leftmost-longest matches with the flags of the tokens applied.
  void FindAll(std::string_view text, const ByteTrie& trie, std::vector<Found>& found) const;

  std::unordered_map<TokenId, AddedToken> tokens_;
  std::unordered_map<std::string, TokenId> ids_;
  ByteTrie raw_trie_, normalized_trie_;
  int64_t id_limit_ = 0;
};

template <typename OnText, typename OnToken>
void AddedTokens::Cut(std::string_view text, bool normalized, OnText&& on_text,
                      OnToken&& on_token) const {
  const ByteTrie& trie = normalized ? normalized_trie_ : raw_trie_;
  std::vector<Found> found;
  if (!trie.empty()) FindAll(text, trie, found);
  size_t position = 0;
  for (const Found& match : found) {
    if (match.begin > position) on_text(position, match.begin);
    on_token(match.id);
    position = match.end;
  }
  if (position < text.size()) on_text(position, text.size());
}

}  // namespace natsl::model_adapters::tokenizers
