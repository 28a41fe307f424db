// The "model" of a tokenizer.json.
#pragma once

#include <memory>

#include "model_adapters/tokenizers/document.h"
#include "model_adapters/tokenizers/model.h"

namespace natsl::model_adapters::tokenizers {

/// Takes the vocabulary out of `document`. Throws Error (model): a type that isn't known (by its
/// name), a missing or wrong field.
std::unique_ptr<Model> MakeModel(Document& document);

}  // namespace natsl::model_adapters::tokenizers
