// The Viterbi search over segmentations.
#include "model_adapters/tokenizers/unigram.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

/// How much worse than the worst token an unknown character scores.
constexpr double kUnknownPenalty = 10.0;

}  // namespace

Unigram::Unigram(TokenTable vocabulary, std::vector<double> scores, std::optional<int64_t> unk_id,
                 bool byte_fallback)
    : vocabulary_(std::move(vocabulary)),
      scores_(std::move(scores)),
      byte_fallback_(byte_fallback) {
  if (scores_.empty()) throw ModelError("model.vocab is empty, expected [token, score] pairs");
  if (unk_id) {
    if (!vocabulary_.HasId(*unk_id)) {
      throw ModelError("model.unk_id is {}, expected 0 to {}", *unk_id, scores_.size() - 1);
    }
    unk_id_ = static_cast<TokenId>(*unk_id);
  }
  for (size_t id = 0; id < scores_.size(); ++id) {
    const auto token = vocabulary_.Token(static_cast<TokenId>(id));
    if (!token.empty()) trie_.Insert(token, static_cast<int32_t>(id));
  }
  unk_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

TokenId Unigram::RequireUnk(std::string_view piece) const {
  if (unk_id_) return *unk_id_;
  throw ModelError("\"{}\" is not in the vocabulary, and model.unk_id is not given", piece);
}

void Unigram::Encode(std::string_view piece, std::vector<TokenId>& ids) const {
  struct Best {
    double score = 0;
    size_t start = SIZE_MAX;  // SIZE_MAX: not reached yet
    TokenId id = -1;
  };
  std::vector<Best> best(piece.size() + 1);
  const auto offer = [&](size_t start, size_t length, double score, TokenId id) {
    Best& end = best[start + length];
    const double candidate = score + best[start].score;
    if (end.start == SIZE_MAX || candidate > end.score) end = {candidate, start, id};
  };
  for (size_t start = 0; start < piece.size();) {
    const size_t character = SequenceLength(piece[start]);
    bool single = false;
    trie_.Prefixes(piece.substr(start), [&](size_t length, int32_t id) {
      offer(start, length, scores_[static_cast<size_t>(id)], id);
      single = single || length == character;
    });
    if (!single) offer(start, character, unk_score_, RequireUnk(piece.substr(start, character)));
    start += character;
  }
  // Back from the end; neighbouring unknown characters are one segment.
  std::vector<std::string_view> segments;
  for (size_t end = piece.size(); end > 0;) {
    size_t start = best[end].start;
    if (unk_id_ && best[end].id == *unk_id_) {
      while (start > 0 && best[start].id == *unk_id_) start = best[start].start;
    }
    segments.push_back(piece.substr(start, end - start));
    end = start;
  }
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    AppendSegment(*segment, ids);
  }
}

void Unigram::AppendSegment(std::string_view segment, std::vector<TokenId>& ids) const {
  if (const std::optional<TokenId> id = vocabulary_.Find(segment)) {
    ids.push_back(*id);
    return;
  }
  const auto byte_id = [&](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (byte_fallback_ &&
      std::all_of(segment.begin(), segment.end(), [&](char c) { return byte_id(c) >= 0; })) {
    for (const char c : segment) ids.push_back(byte_id(c));
    return;
  }
  ids.push_back(RequireUnk(segment));
}

}  // namespace natsl::model_adapters::tokenizers
