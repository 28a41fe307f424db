// Shared readers.
#include "model_adapters/tokenizers/components.h"

#include "model_adapters/tokenizers/unicode.h"

namespace natsl::model_adapters::tokenizers {

char32_t CharacterField(const core::JsonObject& object, std::string_view key) {
  const std::string text = object.String(key);
  size_t end = 0;
  const char32_t character = text.empty() ? 0 : DecodeNext(text, end);
  if (text.empty() || end != text.size()) throw object.Wrong(key, "one character");
  return character;
}

}  // namespace natsl::model_adapters::tokenizers
