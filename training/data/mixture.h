// Rows of training tokens: documents of a weighted mixture, packed to a fixed length.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/data/documents.h"
#include "training/data/stream.h"
#include "training/data/text_encoder.h"

namespace natsl::training {

/// Share of each kind of document among the rows; any non-negative numbers, not all zero.
struct Mixture {
  std::array<double, kDocumentKinds> weights = {};
};
/// "needle=1,needles=1,recall=2,phonebook=1,story=1"; kinds left out weigh nothing. Throws Error
/// (usage): an unknown or repeated kind, a weight that is no finite non-negative number, all zero.
Mixture ParseMixture(std::string_view text);
std::string ToString(const Mixture& mixture);

/// Makes rows. Not thread safe: one a thread. A row depends on its arguments alone.
class RowMaker {
 public:
  RowMaker(std::shared_ptr<const model_adapters::Tokenizer> tokenizer, const Mixture& mixture);

  /// Fills `ids` and `targets` of one row (both of the context's length): a document that takes
  /// most of the row, before or behind stories that fill the rest. Each document stands between the
  /// tokenizer's start and end tokens. targets[i] is the token that follows ids[i], or -1 where it
  /// isn't to be learned.
  void Make(uint64_t stream_seed, std::span<int64_t> ids, std::span<int64_t> targets);

 private:
  struct Tokens {
    std::vector<int32_t> ids;
    std::vector<bool> learn;
  };

  void Append(const Document& document, Tokens& out);
  /// The largest document of this kind, of some tries, that has at most `budget` tokens; false
  /// where none has.
  bool AppendFitting(DocumentKind kind, int64_t budget, core::PythonRandom& random, Tokens& out);
  void FillWithStories(int64_t length, core::PythonRandom& random, Tokens& out);
  void MeasureSizes();

  TextEncoder encoder_;
  int32_t bos_ = 0, eos_ = 0;
  std::array<double, kDocumentKinds> cumulative_ = {};
  /// Tokens of a document of size n: about fixed + n * each.
  std::array<double, kDocumentKinds> fixed_ = {}, each_ = {};
};

}  // namespace natsl::training
