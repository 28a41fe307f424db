// The vocabulary of a model: token strings and their ids, both ways, in flat memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "model_adapters/language_model.h"

namespace natsl::model_adapters::tokenizers {

/// Ids at or above this are refused: no real vocabulary is near it, and tables are sized by ids.
using limits::kMaxVocabulary;

uint64_t HashBytes(std::string_view bytes);

/// Token strings by id and ids by token string. Ids may have holes.
class TokenTable {
 public:
  /// Room for that many tokens, so that adding doesn't rehash.
  void Reserve(size_t tokens, size_t bytes);
  /// Throws Error (model) where the id is out of range or taken. A token that is there already
  /// keeps both ids; Find gives the later one.
  void Add(std::string_view token, int64_t id);

  std::optional<TokenId> Find(std::string_view token) const;
  bool HasId(int64_t id) const;
  /// The token of an id; empty for a hole.
  std::string_view Token(TokenId id) const;

  int64_t token_count() const { return count_; }  ///< distinct token strings
  int64_t id_limit() const { return static_cast<int64_t>(spans_.size()); }  ///< largest id + 1

 private:
  struct Span {
    uint64_t offset = 0;
    uint32_t length = 0;
    bool used = false;
  };
  struct Slot {
    uint32_t hash = 0;
    TokenId id = -1;
  };
  void Grow(size_t slots);
  size_t FindSlot(std::string_view token, uint64_t hash) const;

  std::string bytes_;
  std::vector<Span> spans_;  // by id
  std::vector<Slot> slots_;  // open addressing, a power of two
  int64_t count_ = 0;
};

}  // namespace natsl::model_adapters::tokenizers
