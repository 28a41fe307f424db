// The index of a sharded checkpoint, model.safetensors.index.json.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace natsl::model_adapters {

/// Tensor name -> file name. Throws Error (model): not JSON, no "weight_map", a name given twice,
/// or a value that isn't a text. Other top-level fields are skipped.
std::map<std::string, std::string, std::less<>> ParseShardIndex(std::string_view text,
                                                                std::string_view where);

}  // namespace natsl::model_adapters
