// What the readers of the components of tokenizer.json share.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace natsl::model_adapters::tokenizers {

/// The error for a component type that isn't known.
inline Error Unsupported(std::string_view kind, std::string_view type, std::string_view where) {
  return ModelError("{}: the {} \"{}\" is not supported", where, kind, type);
}

/// A field that may be absent or null.
inline bool OptionalBool(const core::JsonObject& object, std::string_view key, bool otherwise) {
  return object.Has(key) ? object.Bool(key) : otherwise;
}
inline std::string OptionalString(const core::JsonObject& object, std::string_view key,
                                  std::string_view otherwise = {}) {
  return object.Has(key) ? object.String(key) : std::string(otherwise);
}

/// A field that is one character, as the reference's `char`.
char32_t CharacterField(const core::JsonObject& object, std::string_view key);

/// Calls visit(item, where) for the items of a list field of a Sequence.
template <typename Visit>
void ForEachComponent(const core::JsonObject& object, std::string_view key, Visit&& visit) {
  const core::Json& list = object.At(key);
  if (!list.is_array()) throw object.Wrong(key, "a list of components");
  for (size_t i = 0; i < list.size(); ++i) {
    visit(list[i], fmt::format("{}.{}[{}]", object.where(), key, i));
  }
}

}  // namespace natsl::model_adapters::tokenizers
