// Metaspace, which is a pre-tokenizer and a decoder: spaces as a visible mark.
#pragma once

#include <string>

#include "core/json.h"

namespace natsl::model_adapters::tokenizers {

struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };

  std::string replacement;  ///< one character
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// Throws Error (model) where a field is wrong.
Metaspace ReadMetaspace(const core::JsonObject& object);

}  // namespace natsl::model_adapters::tokenizers
