// Byte-pair encoding: the merges of a piece by rank, over characters or over raw bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "model_adapters/tokenizers/document.h"
#include "model_adapters/tokenizers/model.h"

namespace natsl::model_adapters::tokenizers {

struct BpeOptions {
  std::optional<std::string> unk_token = std::nullopt;
  std::string continuing_subword_prefix = {};  ///< before every character of a piece but the first
  std::string end_of_word_suffix = {};         ///< after the last character of a piece
  bool fuse_unk = false;       ///< neighbouring unknown characters are one unknown token
  bool byte_fallback = false;  ///< an unknown character becomes its bytes, <0x..>
  bool ignore_merges = false;  ///< a piece that is a token needs no merging
};

/// What two neighbouring ids merge to, and how early: open addressing over pairs of ids.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    TokenId result;
  };
  static constexpr uint32_t kNoRank = UINT32_MAX;

  explicit MergeTable(size_t merges);
  void Set(TokenId left, TokenId right, Merge merge);
  /// rank kNoRank where the two don't merge.
  Merge Find(TokenId left, TokenId right) const {
    const uint64_t key = Key(left, right);
    for (size_t slot = SlotOf(key);; slot = (slot + 1) & mask_) {
      if (entries_[slot].key == key) return entries_[slot].merge;
      if (entries_[slot].key == kFree) return {kNoRank, -1};
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Entry {
    uint64_t key = kFree;
    Merge merge{kNoRank, -1};
  };
  static uint64_t Key(TokenId left, TokenId right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t SlotOf(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 32) & mask_; }

  std::vector<Entry> entries_;
  size_t mask_;
};

class Bpe : public Model {
 public:
  /// Throws Error (model): a merge of tokens that aren't in the vocabulary, an unknown token that
  /// isn't.
  Bpe(TokenTable vocabulary, const MergeList& merges, BpeOptions options);

  void Encode(std::string_view piece, std::vector<TokenId>& ids) const override;
  bool raw_bytes() const override { return raw_bytes_; }
  bool UseRawBytes() override;
  const TokenTable& vocabulary() const override { return vocabulary_; }
  std::optional<TokenId> unk_id() const override { return unk_id_; }
  std::string_view name() const override { return "BPE"; }

 private:
  void EncodeCached(std::string_view piece, std::vector<TokenId>& ids) const;
  void EncodeUncached(std::string_view piece, std::vector<TokenId>& ids) const;
  void AppendSymbols(std::string_view piece, std::vector<TokenId>& symbols) const;
  /// Appends what an unknown character becomes; `run` says whether the one before was unknown.
  void AppendUnknown(std::string_view character, bool& run, std::vector<TokenId>& symbols) const;

  TokenTable vocabulary_;
  BpeOptions options_;
  std::optional<TokenId> unk_id_;
  MergeTable merges_;
  bool raw_bytes_ = false;
  /// Whether long pieces are cut before the space mark, and the characters it can merge to its left
  /// with, after which they aren't.
  bool cuts_at_mark_ = false;
  std::unordered_set<char32_t> merge_with_mark_;
  std::array<TokenId, 256> byte_ids_{};      // raw bytes: the id of each, or -1
  std::array<TokenId, 256> fallback_ids_{};  // <0x00> to <0xFF>, or -1
  uint64_t instance_;                        // names this model to the caches of the threads
};

}  // namespace natsl::model_adapters::tokenizers
