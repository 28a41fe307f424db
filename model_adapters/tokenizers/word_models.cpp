// WordLevel and WordPiece.
#include "model_adapters/tokenizers/word_models.h"

#include "core/error.h"
#include "core/utf8.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

TokenId RequireUnk(const std::optional<TokenId>& unk_id, std::string_view piece) {
  if (unk_id) return *unk_id;
  throw ModelError("\"{}\" is not in the vocabulary, and neither is model.unk_token", piece);
}

}  // namespace

WordLevel::WordLevel(TokenTable vocabulary, const std::string& unk_token)
    : vocabulary_(std::move(vocabulary)), unk_id_(vocabulary_.Find(unk_token)) {}

void WordLevel::Encode(std::string_view piece, std::vector<TokenId>& ids) const {
  const std::optional<TokenId> id = vocabulary_.Find(piece);
  ids.push_back(id ? *id : RequireUnk(unk_id_, piece));
}

WordPiece::WordPiece(TokenTable vocabulary, const std::string& unk_token,
                     std::string continuing_prefix, int64_t max_characters)
    : vocabulary_(std::move(vocabulary)),
      unk_id_(vocabulary_.Find(unk_token)),
      continuing_prefix_(std::move(continuing_prefix)),
      max_characters_(max_characters) {}

void WordPiece::Encode(std::string_view piece, std::vector<TokenId>& ids) const {
  if (core::CountCodePoints(piece) > max_characters_) {
    ids.push_back(RequireUnk(unk_id_, piece));
    return;
  }
  const size_t before = ids.size();
  std::string candidate;
  for (size_t start = 0; start < piece.size();) {
    std::optional<TokenId> id;
    size_t end = piece.size();
    for (; end > start; end = PreviousStart(piece, end)) {
      candidate = start > 0 ? continuing_prefix_ : std::string();
      candidate += piece.substr(start, end - start);
      id = vocabulary_.Find(candidate);
      if (id) break;
    }
    if (!id) {
      ids.resize(before);
      ids.push_back(RequireUnk(unk_id_, piece));
      return;
    }
    ids.push_back(*id);
    start = end;
  }
}

}  // namespace natsl::model_adapters::tokenizers
