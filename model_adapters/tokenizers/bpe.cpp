// Byte-pair encoding. Words repeat, so every thread keeps a small cache of pieces and their ids;
// what is not in it is merged by scanning ranks (short pieces) or with a heap (long ones).
#include "model_adapters/tokenizers/bpe.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "model_adapters/tokenizers/bpe_merge.h"
#include "model_adapters/tokenizers/byte_alphabet.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

/// What stands for a space in vocabularies of sentencepiece's kind.
constexpr std::string_view kSpaceMark = "\u2581";

/// A direct-mapped cache of short pieces: a collision replaces.
class PieceCache {
 public:
  static constexpr size_t kMaxPiece = 24;
  static constexpr size_t kMaxIds = 6;

  struct Entry {
    uint8_t length = 0;  // 0: free
    uint8_t count = 0;
    char piece[kMaxPiece];
    TokenId ids[kMaxIds];
  };

  PieceCache() : entries_(kEntries) {}

  /// The place of a piece: it holds the piece where Holds says so.
  Entry& At(std::string_view piece) { return entries_[HashBytes(piece) & (kEntries - 1)]; }
  static bool Holds(const Entry& entry, std::string_view piece) {
    return entry.length == piece.size() &&
           std::memcmp(entry.piece, piece.data(), piece.size()) == 0;
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 14;  // 850 KB: fits a core's second-level cache
  std::vector<Entry> entries_;
};

/// The calling thread's cache for one model; a thread keeps those of the last few models it used.
PieceCache& ThreadCache(uint64_t instance) {
  struct Named {
    uint64_t instance = 0;
    std::unique_ptr<PieceCache> cache;
  };
  constexpr size_t kKept = 4;
  thread_local std::array<Named, kKept> kept;
  thread_local size_t next = 0;
  for (Named& named : kept) {
    if (named.instance == instance) return *named.cache;
  }
  Named& named = kept[next];
  next = (next + 1) % kKept;
  named = {instance, std::make_unique<PieceCache>()};
  return *named.cache;
}

uint64_t NextInstance() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

MergeTable::MergeTable(size_t merges)
    : entries_(std::bit_ceil(merges + merges / 2 + 16)), mask_(entries_.size() - 1) {}

void MergeTable::Set(TokenId left, TokenId right, Merge merge) {
  const uint64_t key = Key(left, right);
  size_t slot = SlotOf(key);
  while (entries_[slot].key != kFree && entries_[slot].key != key) slot = (slot + 1) & mask_;
  entries_[slot] = {key, merge};
}

Bpe::Bpe(TokenTable vocabulary, const MergeList& merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      merges_(merges.size()),
      instance_(NextInstance()) {
  if (options_.unk_token) {
    unk_id_ = vocabulary_.Find(*options_.unk_token);
    if (!unk_id_) {
      throw ModelError("model.unk_token is \"{}\", which is not in model.vocab",
                       *options_.unk_token);
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = vocabulary_.Find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
  std::string merged;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto id_of = [&](std::string_view token) {
      const std::optional<TokenId> id = vocabulary_.Find(token);
      if (!id) {
        throw ModelError(
            "model.merges[{}] (\"{}\" and \"{}\") needs the token \"{}\", which is "
            "not in model.vocab",
            rank, merges.left(rank), merges.right(rank), token);
      }
      return *id;
    };
    const std::string_view left = merges.left(rank);
    std::string_view right = merges.right(rank);
    const TokenId left_id = id_of(left);
    const TokenId right_id = id_of(right);
    const std::string& prefix = options_.continuing_subword_prefix;
    if (!prefix.empty()) {
      if (!right.starts_with(prefix)) {
        throw ModelError(
            "model.merges[{}]: \"{}\" doesn't start with "
            "model.continuing_subword_prefix \"{}\"",
            rank, right, prefix);
      }
      right.remove_prefix(prefix.size());
    }
    if (right.starts_with(kSpaceMark) && !left.empty()) {
      size_t last = PreviousStart(left, left.size());
      merge_with_mark_.insert(DecodeNext(left, last));
    }
    merged.assign(left);
    merged += right;
    merges_.Set(left_id, right_id, {static_cast<uint32_t>(rank), id_of(merged)});
  }
  cuts_at_mark_ = vocabulary_.Find(kSpaceMark).has_value() && !options_.ignore_merges &&
                  options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
}

bool Bpe::UseRawBytes() {
  if (options_.byte_fallback || !options_.continuing_subword_prefix.empty() ||
      !options_.end_of_word_suffix.empty()) {
    return false;
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    byte_ids_[byte] = vocabulary_.Find(ToByteAlphabet({&raw, 1})).value_or(-1);
  }
  raw_bytes_ = true;
  cuts_at_mark_ = false;  // the bytes of the mark are not the mark of the vocabulary
  return true;
}

void Bpe::Encode(std::string_view piece, std::vector<TokenId>& ids) const {
  if (!cuts_at_mark_ || piece.size() <= PieceCache::kMaxPiece) {
    EncodeCached(piece, ids);
    return;
  }
  // A token over a boundary between two characters comes from a merge right at that boundary. Where
  // no merge joins the two characters, what lies before and after is independent.
  size_t begin = 0;
  for (size_t mark = piece.find(kSpaceMark, 1); mark != std::string_view::npos;
       mark = piece.find(kSpaceMark, mark + 1)) {
    size_t previous = PreviousStart(piece, mark);
    if (merge_with_mark_.contains(DecodeNext(piece, previous))) continue;
    EncodeCached(piece.substr(begin, mark - begin), ids);
    begin = mark;
  }
  EncodeCached(piece.substr(begin), ids);
}

void Bpe::EncodeCached(std::string_view piece, std::vector<TokenId>& ids) const {
  if (piece.size() > PieceCache::kMaxPiece) {
    EncodeUncached(piece, ids);
    return;
  }
  PieceCache::Entry& entry = ThreadCache(instance_).At(piece);
  if (PieceCache::Holds(entry, piece)) {
    ids.insert(ids.end(), entry.ids, entry.ids + entry.count);
    return;
  }
  const size_t before = ids.size();
  EncodeUncached(piece, ids);
  const size_t count = ids.size() - before;
  if (count > PieceCache::kMaxIds) return;
  entry.length = static_cast<uint8_t>(piece.size());
  entry.count = static_cast<uint8_t>(count);
  std::memcpy(entry.piece, piece.data(), piece.size());
  std::copy(ids.begin() + static_cast<int64_t>(before), ids.end(), entry.ids);
}

void Bpe::EncodeUncached(std::string_view piece, std::vector<TokenId>& ids) const {
  if (options_.ignore_merges) {
    const std::optional<TokenId> whole =
        raw_bytes_ ? vocabulary_.Find(ToByteAlphabet(piece)) : vocabulary_.Find(piece);
    if (whole) {
      ids.push_back(*whole);
      return;
    }
  }
  thread_local std::vector<TokenId> symbols;
  symbols.clear();
  AppendSymbols(piece, symbols);
  MergeByRank(merges_, symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void Bpe::AppendSymbols(std::string_view piece, std::vector<TokenId>& symbols) const {
  bool unknown_run = false;
  if (raw_bytes_) {
    for (const char c : piece) {
      const TokenId id = byte_ids_[static_cast<uint8_t>(c)];
      if (id < 0) {
        AppendUnknown({&c, 1}, unknown_run, symbols);
      } else {
        symbols.push_back(id);
        unknown_run = false;
      }
    }
    return;
  }
  const bool affixed =
      !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty();
  std::string with_affixes;
  for (size_t i = 0; i < piece.size();) {
    const size_t length = SequenceLength(piece[i]);
    std::string_view character = piece.substr(i, length);
    if (affixed) {
      with_affixes = i > 0 ? options_.continuing_subword_prefix : std::string();
      with_affixes += character;
      if (i + length == piece.size()) with_affixes += options_.end_of_word_suffix;
      character = with_affixes;
    }
    i += length;
    if (const std::optional<TokenId> id = vocabulary_.Find(character)) {
      symbols.push_back(*id);
      unknown_run = false;
    } else {
      AppendUnknown(character, unknown_run, symbols);
    }
  }
}

void Bpe::AppendUnknown(std::string_view character, bool& run,
                        std::vector<TokenId>& symbols) const {
  if (options_.byte_fallback) {
    bool all = true;
    for (const char c : character) all = all && fallback_ids_[static_cast<uint8_t>(c)] >= 0;
    if (all) {
      // The reference leaves a pending unknown token pending here: it comes after these bytes.
      const bool pending = run && !symbols.empty();
      if (pending) symbols.pop_back();
      for (const char c : character) symbols.push_back(fallback_ids_[static_cast<uint8_t>(c)]);
      if (pending) symbols.push_back(*unk_id_);
      return;
    }
  }
  if (!unk_id_) return;  // the reference drops characters that it has no token for
  if (!run || !options_.fuse_unk) symbols.push_back(*unk_id_);
  run = true;
}

}  // namespace natsl::model_adapters::tokenizers
