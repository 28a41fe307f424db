// The contract of the models of a tokenizer.json: one pre-tokenized piece of text to ids.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model_adapters/tokenizers/token_table.h"

namespace natsl::model_adapters::tokenizers {

/// Thread safe after construction.
class Model {
 public:
  virtual ~Model() = default;

  /// Appends the ids of a piece. `piece` is valid UTF-8 and not empty. Throws Error (model) where
  /// the piece has no ids at all (an unknown word, and no unknown token).
  virtual void Encode(std::string_view piece, std::vector<TokenId>& ids) const = 0;

  /// Where pieces come in as raw bytes instead of the byte-level alphabet (see UseRawBytes).
  virtual bool raw_bytes() const { return false; }
  /// Asks the model to take raw bytes, as if each were mapped to its character of the byte-level
  /// alphabet first. False where it can't.
  virtual bool UseRawBytes() { return false; }

  virtual const TokenTable& vocabulary() const = 0;
  virtual std::optional<TokenId> unk_id() const = 0;
  virtual std::string_view name() const = 0;
};

}  // namespace natsl::model_adapters::tokenizers
