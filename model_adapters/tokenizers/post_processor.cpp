// The post-processors. Offsets and pairs of texts are no concern here, so each comes down to
// affixes.
#include "model_adapters/tokenizers/post_processor.h"

#include <limits>

#include "core/json.h"
#include "model_adapters/tokenizers/components.h"
#include "model_adapters/tokenizers/token_table.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using core::Json;
using core::JsonObject;

TokenId CheckedId(const Json& id, const std::string& where) {
  if (!id.is_number_integer() || id < 0 || id >= kMaxVocabulary) {
    throw ModelError("{}: {}, expected an id below {}", where, core::Describe(id), kMaxVocabulary);
  }
  return id.get<TokenId>();
}

std::vector<TokenId> TemplateIds(const JsonObject& tokens, const std::string& name) {
  const JsonObject token = tokens.Object(name);
  const Json& ids = token.At("ids");
  if (!ids.is_array()) throw token.Wrong("ids", "a list of ids");
  std::vector<TokenId> read;
  for (const Json& id : ids) read.push_back(CheckedId(id, token.where() + ".ids"));
  return read;
}

Affixes ReadTemplate(const JsonObject& object) {
  const Json& pieces = object.At("single");
  if (!pieces.is_array()) throw object.Wrong("single", "a list of pieces");
  const JsonObject tokens = object.Object("special_tokens");
  Affixes affixes;
  int64_t texts = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const JsonObject piece(pieces[i], fmt::format("{}.single[{}]", object.where(), i),
                           ErrorCode::kModel);
    if (piece.Has("Sequence")) {
      if (piece.Object("Sequence").String("id") != "A") throw piece.Wrong("Sequence", "text A");
      ++texts;
    } else if (piece.Has("SpecialToken")) {
      const auto ids = TemplateIds(tokens, piece.Object("SpecialToken").String("id"));
      std::vector<TokenId>& side = texts == 0 ? affixes.prefix : affixes.suffix;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      throw ModelError("{}: {}, expected a Sequence or a SpecialToken", piece.where(),
                       core::Describe(pieces[i]));
    }
  }
  if (texts != 1) {
    throw ModelError("{}.single holds the text {} times, expected once", object.where(), texts);
  }
  return affixes;
}

TokenId PairId(const JsonObject& object, std::string_view key) {
  const Json& pair = object.At(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) {
    throw object.Wrong(key, "a token and its id");
  }
  return CheckedId(pair[1], fmt::format("{}.{}", object.where(), key));
}

Affixes ReadSequence(const JsonObject& object) {
  Affixes all;
  ForEachComponent(object, "processors", [&](const Json& item, const std::string& where) {
    const Affixes outer = ReadPostProcessor(item, where);
    all.prefix.insert(all.prefix.begin(), outer.prefix.begin(), outer.prefix.end());
    all.suffix.insert(all.suffix.end(), outer.suffix.begin(), outer.suffix.end());
  });
  return all;
}

}  // namespace

Affixes ReadPostProcessor(const Json& json, const std::string& where) {
  if (json.is_null()) return {};
  const JsonObject object(json, where, ErrorCode::kModel);
  const std::string type = object.String("type");
  if (type == "ByteLevel") return {};  // it only moves offsets
  if (type == "TemplateProcessing") return ReadTemplate(object);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {{PairId(object, "cls")}, {PairId(object, "sep")}};
  }
  if (type == "Sequence") return ReadSequence(object);
  throw Unsupported("post-processor", type, where);
}

}  // namespace natsl::model_adapters::tokenizers
