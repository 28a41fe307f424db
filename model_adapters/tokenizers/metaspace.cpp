// Reading Metaspace, in its present and its old layout.
#include "model_adapters/tokenizers/metaspace.h"

#include "model_adapters/tokenizers/components.h"

namespace natsl::model_adapters::tokenizers {

Metaspace ReadMetaspace(const core::JsonObject& object) {
  Metaspace metaspace;
  CharacterField(object, "replacement");
  metaspace.replacement = object.String("replacement");
  metaspace.split = OptionalBool(object, "split", true);
  const std::string scheme = OptionalString(object, "prepend_scheme", "always");
  if (scheme == "always") {
    metaspace.prepend = Metaspace::Prepend::kAlways;
  } else if (scheme == "first") {
    metaspace.prepend = Metaspace::Prepend::kFirst;
  } else if (scheme == "never") {
    metaspace.prepend = Metaspace::Prepend::kNever;
  } else {
    throw object.Wrong("prepend_scheme", "always, first or never");
  }
  // The old layout has add_prefix_space instead.
  if (!OptionalBool(object, "add_prefix_space", true)) {
    if (object.Has("prepend_scheme") && metaspace.prepend != Metaspace::Prepend::kNever) {
      throw object.Wrong("prepend_scheme", "never, as \"add_prefix_space\" is false");
    }
    metaspace.prepend = Metaspace::Prepend::kNever;
  }
  return metaspace;
}

}  // namespace natsl::model_adapters::tokenizers
