// The two models of whole words: WordLevel (a piece is a token or unknown) and WordPiece (the
// longest token first, continued by tokens with a prefix).
#pragma once

#include <string>

#include "model_adapters/tokenizers/model.h"

namespace natsl::model_adapters::tokenizers {

class WordLevel : public Model {
 public:
  WordLevel(TokenTable vocabulary, const std::string& unk_token);

  /// An unknown piece and no unknown token in the vocabulary: Error (model).
  void Encode(std::string_view piece, std::vector<TokenId>& ids) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<TokenId> unk_id() const override { return unk_id_; }
  std::string_view name() const override { return "WordLevel"; }

 private:
  TokenTable vocabulary_;
  std::optional<TokenId> unk_id_;
};

class WordPiece : public Model {
 public:
  WordPiece(TokenTable vocabulary, const std::string& unk_token, std::string continuing_prefix,
            int64_t max_characters);

  /// A piece that no tokens make up, or that is longer than `max_characters`, is unknown.
  void Encode(std::string_view piece, std::vector<TokenId>& ids) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<TokenId> unk_id() const override { return unk_id_; }
  std::string_view name() const override { return "WordPiece"; }

 private:
  TokenTable vocabulary_;
  std::optional<TokenId> unk_id_;
  std::string continuing_prefix_;
  int64_t max_characters_;
};

}  // namespace natsl::model_adapters::tokenizers
