// Cutting text into pieces and remembering their ids.
#include "training/data/text_encoder.h"

namespace natsl::training {
namespace {

constexpr size_t kMostPieces = 1 << 17;

bool StandsAlone(char c) { return (c >= '0' && c <= '9') || c == '\n'; }

size_t EndOfPiece(std::string_view text, size_t begin) {
  if (StandsAlone(text[begin])) return begin + 1;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != ' ' && !StandsAlone(text[end])) ++end;
  return end;
}

}  // namespace

TextEncoder::TextEncoder(std::shared_ptr<const model_adapters::Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)) {}

void TextEncoder::Append(std::string_view text, std::vector<int32_t>& ids) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = EndOfPiece(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    begin = end;
    auto found = pieces_.find(piece);
    if (found == pieces_.end()) {
      if (pieces_.size() >= kMostPieces) pieces_.clear();
      const std::vector<model_adapters::TokenId> fresh = tokenizer_->Encode(piece, false);
      found = pieces_.emplace(piece, std::vector<int32_t>(fresh.begin(), fresh.end())).first;
    }
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
}

}  // namespace natsl::training
