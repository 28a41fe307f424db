// Unigram language model: the segmentation of a piece with the highest sum of scores.
#pragma once

#include <array>
#include <vector>

#include "model_adapters/tokenizers/byte_trie.h"
#include "model_adapters/tokenizers/model.h"

namespace natsl::model_adapters::tokenizers {

class Unigram : public Model {
 public:
  /// `scores` by id. Throws Error (model): an empty vocabulary, an unknown id out of range.
  Unigram(TokenTable vocabulary, std::vector<double> scores, std::optional<int64_t> unk_id,
          bool byte_fallback);

  void Encode(std::string_view piece, std::vector<TokenId>& ids) const override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<TokenId> unk_id() const override { return unk_id_; }
  std::string_view name() const override { return "Unigram"; }

 private:
  void AppendSegment(std::string_view segment, std::vector<TokenId>& ids) const;
  TokenId RequireUnk(std::string_view piece) const;

  TokenTable vocabulary_;
  std::vector<double> scores_;
  std::optional<TokenId> unk_id_;
  double unk_score_;
  ByteTrie trie_;
  bool byte_fallback_;
  std::array<TokenId, 256> byte_ids_{};
};

}  // namespace natsl::model_adapters::tokenizers
