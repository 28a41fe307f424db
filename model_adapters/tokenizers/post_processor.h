// The post-processors of tokenizer.json, as far as one text goes: special ids around its own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters::tokenizers {

/// What is put around the ids of a text where special tokens are asked for.
struct Affixes {
  std::vector<TokenId> prefix, suffix;
};

/// None for null. Throws Error (model): a type that isn't known (by its name), a template that
/// doesn't hold the text exactly once, a token without ids.
Affixes ReadPostProcessor(const nlohmann::ordered_json& json, const std::string& where);

}  // namespace natsl::model_adapters::tokenizers
