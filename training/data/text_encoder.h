// Ids of training text, fast: text is cut where no token of the tokenizer reaches across, and the
// ids of each piece are kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model_adapters/tokenizer.h"

namespace natsl::training {

/// Not thread safe: one a thread.
class TextEncoder {
 public:
  explicit TextEncoder(std::shared_ptr<const model_adapters::Tokenizer> tokenizer);

  /// Appends the ids of `text` without special tokens: those of Tokenizer::Encode for a tokenizer
  /// made by TrainTokenizer. A piece begins at a space, a digit, a newline, and behind the last
  /// two.
  void Append(std::string_view text, std::vector<int32_t>& ids);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::shared_ptr<const model_adapters::Tokenizer> tokenizer_;
  std::unordered_map<std::string, std::vector<int32_t>, Hash, std::equal_to<>> pieces_;
};

}  // namespace natsl::training
