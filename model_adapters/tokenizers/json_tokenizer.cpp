// The whole pipeline of a tokenizer.json.
#include "model_adapters/tokenizers/json_tokenizer.h"

#include "core/hash.h"
#include "core/json.h"
#include "model_adapters/tokenizers/added_tokens.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/decoders.h"
#include "model_adapters/tokenizers/document.h"
#include "model_adapters/tokenizers/model.h"
#include "model_adapters/tokenizers/model_reader.h"
#include "model_adapters/tokenizers/normalizers.h"
#include "model_adapters/tokenizers/post_processor.h"
#include "model_adapters/tokenizers/pre_tokenizers.h"
#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;

const Json& FieldOrNull(const Json& object, std::string_view key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

class JsonTokenizer : public Tokenizer {
 public:
  JsonTokenizer(std::string_view text, const std::string& where, const TokenizerConfig& config) {
    Document document = ReadDocument(text, where);
    const Json& rest = *document.rest;
    normalizer_ = MakeNormalizer(FieldOrNull(rest, "normalizer"), where + ": normalizer");
    pre_tokenizer_ =
        MakePreTokenizer(FieldOrNull(rest, "pre_tokenizer"), where + ": pre_tokenizer");
    decoder_ = MakeDecoder(FieldOrNull(rest, "decoder"), where + ": decoder");
    const Json& post_processor = FieldOrNull(rest, "post_processor");
    affixes_ = ReadPostProcessor(post_processor, where + ": post_processor");
    model_ = InContext(where, [&] { return MakeModel(document); });
    if (pre_tokenizer_ && pre_tokenizer_->MapsBytes() && model_->UseRawBytes()) {
      pre_tokenizer_->LeaveBytesRaw();
    }
    InContext(where, [&] { ReadAdded(FieldOrNull(rest, "added_tokens"), config); });
    vocabulary_size_ = std::max(model_->vocabulary().id_limit(), added_.id_limit());
    special_ = InContext(where, [&] {
      return ResolveSpecialTokens(
          config, [&](std::string_view token) { return IdOf(token); }, vocabulary_size_);
    });
    if (!special_.unk) special_.unk = model_->unk_id();
    ApplyConfig(config, !post_processor.is_null());
    CheckAffixes(where);
    max_length_ = config.max_length;
    fingerprint_ = MakeFingerprint(text);
  }

  std::vector<TokenId> Encode(std::string_view text, bool add_special_tokens) const override {
    if (const size_t invalid = FindInvalid(text); invalid != std::string_view::npos) {
      throw DataError("the text is not valid UTF-8 at byte {}", invalid);
    }
    std::vector<TokenId> ids;
    ids.reserve(text.size() / 3 + 8);
    if (add_special_tokens) ids = affixes_.prefix;
    const auto add = [&](TokenId id) { ids.push_back(id); };
    added_.Cut(
        text, false,
        [&](size_t begin, size_t end) {
          std::string normalized;
          std::string_view part = text.substr(begin, end - begin);
          if (normalizer_) {
            normalized = part;
            normalizer_->Normalize(normalized);
            part = normalized;
          }
          added_.Cut(
              part, true,
              [&](size_t from, size_t to) {
                EncodePart({part.substr(from, to - from), begin == 0 && from == 0}, ids);
              },
              add);
        },
        add);
    if (add_special_tokens) {
      ids.insert(ids.end(), affixes_.suffix.begin(), affixes_.suffix.end());
    }
    return ids;
  }

  std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens) const override {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const TokenId id : ids) {
      if (id < 0 || id >= vocabulary_size_) {
        throw ModelError("the id {} is outside of the tokenizer's vocabulary, expected 0 to {}", id,
                         vocabulary_size_ - 1);
      }
      if (const AddedToken* token = added_.Find(id)) {
        if (!skip_special_tokens || !token->special) tokens.push_back(token->matched);
      } else if (model_->vocabulary().HasId(id)) {
        tokens.emplace_back(model_->vocabulary().Token(id));
      }
    }
    std::string text;
    if (decoder_) {
      decoder_->Decode(tokens);
      for (const std::string& token : tokens) text += token;
    } else {
      for (size_t i = 0; i < tokens.size(); ++i) text += (i > 0 ? " " : "") + tokens[i];
    }
    return clean_up_spaces_ ? CleanUpSpaces(std::move(text)) : text;
  }

  const SpecialTokens& special_tokens() const override { return special_; }
  int64_t vocabulary_size() const override { return vocabulary_size_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::optional<int64_t> model_max_length() const override { return max_length_; }

 private:
  std::optional<TokenId> IdOf(std::string_view token) const {
    const std::optional<TokenId> id = added_.IdOf(token);
    return id ? id : model_->vocabulary().Find(token);
  }

  void ReadAdded(const Json& list, const TokenizerConfig& config) {
    if (!list.is_null() && !list.is_array()) {
      throw ModelError("added_tokens is {}, expected a list", core::Describe(list));
    }
    const auto add = [&](AddedToken token) {
      added_.Add(std::move(token), model_->vocabulary(), normalizer_.get());
    };
    for (size_t i = 0; i < list.size(); ++i) {
      AddedToken token = ReadAddedToken(list[i], fmt::format("added_tokens[{}]", i));
      if (added_.Find(token.id) != nullptr && added_.Find(token.id)->content != token.content) {
        throw ModelError("added_tokens[{}]: the id {} is given twice", i, token.id);
      }
      add(std::move(token));
    }
    // tokenizer_config.json may add more; for tokens that are there, tokenizer.json decides.
    for (const AddedToken& token : config.added) {
      if (!added_.IdOf(token.content)) add(token);
    }
  }

  /// add_bos_token and add_eos_token replace what the post-processor puts around a text.
  void ApplyConfig(const TokenizerConfig& config, bool has_post_processor) {
    const bool llama = config.IsLlama();
    if (config.add_bos || config.add_eos || (llama && !has_post_processor)) {
      affixes_ = {};
      if (config.add_bos.value_or(llama) && special_.bos) affixes_.prefix = {*special_.bos};
      if (config.add_eos.value_or(false) && special_.eos) affixes_.suffix = {*special_.eos};
    }
    // transformers doesn't clean up after a BPE unless forced: it would take out real spaces.
    clean_up_spaces_ =
        config.clean_up_spaces && (model_->name() != "BPE" || config.clean_up_spaces_of_bpe);
  }

  void CheckAffixes(const std::string& where) const {
    for (const auto* side : {&affixes_.prefix, &affixes_.suffix}) {
      for (const TokenId id : *side) {
        if (id >= vocabulary_size_) {
          throw ModelError("{}: post_processor puts the id {}, expected an id below {}", where, id,
                           vocabulary_size_);
        }
      }
    }
  }

  std::string MakeFingerprint(std::string_view text) const {
    core::Sha256 hash;
    hash.Update(text);
    hash.Update(fmt::format("\nprefix [{}] suffix [{}] clean_up {} added {}",
                            fmt::join(affixes_.prefix, ","), fmt::join(affixes_.suffix, ","),
                            clean_up_spaces_, added_.id_limit()));
    return hash.Hex();
  }

  void EncodePart(const Piece& part, std::vector<TokenId>& ids) const {
    if (!pre_tokenizer_) {
      model_->Encode(part.text, ids);
      return;
    }
    Arena arena;
    std::vector<Piece> pieces;
    pre_tokenizer_->Split(part, pieces, arena);
    for (const Piece& piece : pieces) model_->Encode(piece.text, ids);
  }

  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Decoder> decoder_;
  Affixes affixes_;
  AddedTokens added_;
  SpecialTokens special_;
  int64_t vocabulary_size_ = 0;
  bool clean_up_spaces_ = false;
  std::optional<int64_t> max_length_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Tokenizer> OpenJsonTokenizer(std::string_view text, const std::string& where,
                                                   const TokenizerConfig& config) {
  return std::make_shared<JsonTokenizer>(text, where, config);
}

}  // namespace natsl::model_adapters::tokenizers
