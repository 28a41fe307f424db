// The sentencepiece library behind the tokenizer's contract.
#include "model_adapters/tokenizers/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <atomic>
#include <functional>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "core/hash.h"
#include "model_adapters/tokenizers/decoders.h"
#include "model_adapters/tokenizers/sentencepiece_check.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string_view bytes, const std::string& where,
                         const TokenizerConfig& config) {
    InContext(where, [&] { CheckSentencePieceModel(bytes); });
    const auto status = processor_.LoadFromSerializedProto(bytes);
    if (!status.ok()) {
      throw ModelError("{}: not a sentencepiece model: {}", where, status.ToString());
    }
    size_ = processor_.GetPieceSize();
    word_by_word_ = EncodesWordByWord(bytes);
    special_ = InContext(where, [&] {
      return ResolveSpecialTokens(
          config, [&](std::string_view token) { return IdOf(token); }, size_);
    });
    TakeOwnSpecials(config);
    const bool t5 = config.tokenizer_class == "T5Tokenizer";
    if (special_.bos && config.add_bos.value_or(!t5)) bos_ = special_.bos;
    if (special_.eos && config.add_eos.value_or(t5)) eos_ = special_.eos;
    clean_up_spaces_ = config.clean_up_spaces;
    max_length_ = config.max_length;
    core::Sha256 hash;
    hash.Update(bytes);
    hash.Update(fmt::format("\nbos {} eos {} clean_up {}", bos_.value_or(-1), eos_.value_or(-1),
                            clean_up_spaces_));
    fingerprint_ = hash.Hex();
  }

  std::vector<TokenId> Encode(std::string_view text, bool add_special_tokens) const override {
    if (const size_t invalid = FindInvalid(text); invalid != std::string_view::npos) {
      throw DataError("the text is not valid UTF-8 at byte {}", invalid);
    }
    std::vector<int> ids;
    if (word_by_word_) {
      EncodeWords(text, ids);
    } else {
      Check(processor_.Encode(text, &ids));
    }
    if (!add_special_tokens) return ids;
    if (bos_) ids.insert(ids.begin(), *bos_);
    if (eos_) ids.push_back(*eos_);
    return ids;
  }

  std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens) const override {
    std::vector<int> kept;
    kept.reserve(ids.size());
    for (const TokenId id : ids) {
      if (id < 0 || id >= size_) {
        throw ModelError("the id {} is outside of the tokenizer's vocabulary, expected 0 to {}", id,
                         size_ - 1);
      }
      if (!skip_special_tokens || !IsSpecial(id)) kept.push_back(id);
    }
    std::string text;
    Check(processor_.Decode(kept, &text));
    return clean_up_spaces_ ? CleanUpSpaces(std::move(text)) : text;
  }

  const SpecialTokens& special_tokens() const override { return special_; }
  int64_t vocabulary_size() const override { return size_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::optional<int64_t> model_max_length() const override { return max_length_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  /// Ids of words that this thread has seen, of one tokenizer.
  struct Words {
    uint64_t instance = 0;
    std::unordered_map<std::string, std::vector<int>, Hash, std::equal_to<>> ids;
  };

  /// The end of the word that begins at `begin`: where a space follows another character and is
  /// itself followed by one.
  static size_t EndOfWord(std::string_view text, size_t begin, size_t last) {
    for (size_t i = begin + 1; (i = text.find(' ', i)) < last; ++i) {
      const std::string_view before = text.substr(0, i);
      if (!before.ends_with(' ') && !before.ends_with("\xE2\x96\x81")) return i;
    }
    return text.size();
  }

  /// The same ids as of the whole text; the library's time for one grows faster than its length,
  /// and words come again.
  void EncodeWords(std::string_view text, std::vector<int>& ids) const {
    constexpr size_t kMostWords = 1 << 16, kLongestKept = 64;
    thread_local Words words;
    if (words.instance != instance_) words = {instance_, {}};
    // Spaces at the end belong to the last word.
    const size_t last = text.find_last_not_of(' ');
    std::vector<int> fresh;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end =
          last == std::string_view::npos ? text.size() : EndOfWord(text, begin, last);
      std::string_view word = text.substr(begin, end - begin);
      if (begin > 0) word.remove_prefix(1);  // the library puts that space there itself
      begin = end;
      if (const auto known = words.ids.find(word); known != words.ids.end()) {
        ids.insert(ids.end(), known->second.begin(), known->second.end());
        continue;
      }
      Check(processor_.Encode(word, &fresh));
      ids.insert(ids.end(), fresh.begin(), fresh.end());
      if (word.size() > kLongestKept) continue;
      if (words.ids.size() >= kMostWords) words.ids.clear();
      words.ids.emplace(word, fresh);
    }
  }

  static uint64_t NextInstance() {
    static std::atomic<uint64_t> next{1};
    return next++;
  }

  static void Check(const sentencepiece::util::Status& status) {
    if (!status.ok()) throw ModelError("sentencepiece: {}", status.ToString());
  }

  std::optional<TokenId> IdOf(std::string_view token) const {
    const int id = processor_.PieceToId(token);
    if (processor_.IdToPiece(id) != token) return std::nullopt;  // the unknown piece's id
    return id;
  }

  /// The model's own special ids where no file says otherwise.
  void TakeOwnSpecials(const TokenizerConfig& config) {
    const auto take = [&](std::string_view name, std::optional<TokenId>& into, int id) {
      if (!into && !config.tokens.contains(name) && id >= 0) into = id;
    };
    take("bos_token", special_.bos, processor_.bos_id());
    take("eos_token", special_.eos, processor_.eos_id());
    take("unk_token", special_.unk, processor_.unk_id());
    take("pad_token", special_.pad, processor_.pad_id());
  }

  bool IsSpecial(TokenId id) const {
    return processor_.IsControl(id) || id == special_.bos || id == special_.eos ||
           id == special_.unk || id == special_.pad;
  }

  sentencepiece::SentencePieceProcessor processor_;
  SpecialTokens special_;
  std::optional<TokenId> bos_, eos_;  // those that are put around a text
  int64_t size_ = 0;
  bool word_by_word_ = false;
  uint64_t instance_ = NextInstance();  // names this tokenizer to the caches of the threads
  bool clean_up_spaces_ = false;
  std::optional<int64_t> max_length_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Tokenizer> OpenSentencePiece(std::string_view bytes, const std::string& where,
                                                   const TokenizerConfig& config) {
  return std::make_shared<SentencePieceTokenizer>(bytes, where, config);
}

}  // namespace natsl::model_adapters::tokenizers
