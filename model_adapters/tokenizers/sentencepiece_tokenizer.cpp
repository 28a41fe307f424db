// The sentencepiece library behind the tokenizer's contract.
#include "model_adapters/tokenizers/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

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
    Check(processor_.Encode(text, &ids));
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
