// The "model" of a tokenizer.json, also in old layouts that don't name its type.
#include "model_adapters/tokenizers/model_reader.h"

#include "model_adapters/tokenizers/bpe.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/unigram.h"
#include "model_adapters/tokenizers/word_models.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::JsonObject;

/// The type that a model without one has, by its fields.
std::string GuessType(const JsonObject& model, const Document& document) {
  if (document.layout == VocabularyLayout::kScores) return "Unigram";
  if (document.has_merges) return "BPE";
  if (model.Has("continuing_subword_prefix")) return "WordPiece";
  return "WordLevel";
}

void RequireVocabulary(const Document& document, VocabularyLayout layout, std::string_view type) {
  if (document.layout == layout) return;
  throw ModelError(
      "model.vocab is {}, expected {} for {}",
      document.layout == VocabularyLayout::kAbsent ? "missing" : "of another layout",
      layout == VocabularyLayout::kIds ? "an object of tokens and ids" : "a list of [token, score]",
      type);
}

std::unique_ptr<Model> MakeBpe(const JsonObject& model, Document& document) {
  RequireVocabulary(document, VocabularyLayout::kIds, "BPE");
  if (!document.has_merges) throw ModelError("model.merges is missing, expected a list for BPE");
  if (model.Has("dropout") && model.Double("dropout") != 0) {
    throw ModelError("model.dropout is {}: encoding at random is not supported",
                     model.Double("dropout"));
  }
  BpeOptions options;
  if (model.Has("unk_token")) options.unk_token = model.String("unk_token");
  options.continuing_subword_prefix = OptionalString(model, "continuing_subword_prefix");
  options.end_of_word_suffix = OptionalString(model, "end_of_word_suffix");
  options.fuse_unk = OptionalBool(model, "fuse_unk", false);
  options.byte_fallback = OptionalBool(model, "byte_fallback", false);
  options.ignore_merges = OptionalBool(model, "ignore_merges", false);
  return std::make_unique<Bpe>(std::move(document.vocabulary), document.merges, options);
}

std::unique_ptr<Model> MakeUnigram(const JsonObject& model, Document& document) {
  RequireVocabulary(document, VocabularyLayout::kScores, "Unigram");
  std::optional<int64_t> unk_id;
  if (model.Has("unk_id")) unk_id = model.Int("unk_id");
  return std::make_unique<Unigram>(std::move(document.vocabulary), std::move(document.scores),
                                   unk_id, OptionalBool(model, "byte_fallback", false));
}

}  // namespace

std::unique_ptr<Model> MakeModel(Document& document) {
  const JsonObject root(*document.rest, "the file", ErrorCode::kModel);
  const JsonObject model(root.At("model"), "model", ErrorCode::kModel);
  const std::string type = model.Has("type") ? model.String("type") : GuessType(model, document);
  if (type == "BPE") return MakeBpe(model, document);
  if (type == "Unigram") return MakeUnigram(model, document);
  if (type == "WordLevel") {
    RequireVocabulary(document, VocabularyLayout::kIds, type);
    return std::make_unique<WordLevel>(std::move(document.vocabulary),
                                       OptionalString(model, "unk_token", "<unk>"));
  }
  if (type == "WordPiece") {
    RequireVocabulary(document, VocabularyLayout::kIds, type);
    return std::make_unique<WordPiece>(
        std::move(document.vocabulary), OptionalString(model, "unk_token", "[UNK]"),
        OptionalString(model, "continuing_subword_prefix", "##"),
        model.Has("max_input_chars_per_word") ? model.Int("max_input_chars_per_word") : 100);
  }
  throw Unsupported("model", type, "model");
}

}  // namespace natsl::model_adapters::tokenizers
