// tokenizer.json read in one pass: its two big parts (vocabulary, merges) into flat memory, the
// rest as a small JSON value.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/tokenizers/token_table.h"

namespace natsl::model_adapters::tokenizers {

/// The merges of a BPE in order of rank, as the two token strings.
class MergeList {
 public:
  void Add(std::string_view left, std::string_view right);
  size_t size() const { return spans_.size(); }
  std::string_view left(size_t rank) const;
  std::string_view right(size_t rank) const;

 private:
  struct Span {
    uint64_t offset;
    uint32_t left, right;
  };
  std::string bytes_;
  std::vector<Span> spans_;
};

enum class VocabularyLayout {
  kAbsent,
  kIds,    ///< {"token": id, ...}
  kScores  ///< [["token", score], ...], the id is the position
};

struct Document {
  Document();
  ~Document();
  Document(Document&&) noexcept;

  /// All but "model"."vocab" and "model"."merges" (those two are null in it).
  std::unique_ptr<nlohmann::ordered_json> rest;
  VocabularyLayout layout = VocabularyLayout::kAbsent;
  TokenTable vocabulary;
  std::vector<double> scores;  ///< by id, for kScores
  bool has_merges = false;
  MergeList merges;
};

/// Throws Error (model): not JSON, or a vocabulary or merges of another shape. `where` names the
/// file in errors.
Document ReadDocument(std::string_view text, std::string_view where);

}  // namespace natsl::model_adapters::tokenizers
