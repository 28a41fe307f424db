// The normalizers of tokenizer.json: text to text, before anything is split.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace natsl::model_adapters::tokenizers {

/// Thread safe after construction.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Changes `text` (valid UTF-8 before and after) in place.
  virtual void Normalize(std::string& text) const = 0;
};

/// Null for null. Throws Error (model): a type that isn't known (by its name), a wrong field.
std::unique_ptr<Normalizer> MakeNormalizer(const nlohmann::ordered_json& json,
                                           const std::string& where);

}  // namespace natsl::model_adapters::tokenizers
