// The decoders of tokenizer.json: tokens back to text.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace natsl::model_adapters::tokenizers {

/// Thread safe after construction. A text is what the tokens are, joined, after the last decoder.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void Decode(std::vector<std::string>& tokens) const = 0;
};

/// Null for null. Throws Error (model): a type that isn't known (by its name), a wrong field.
std::unique_ptr<Decoder> MakeDecoder(const nlohmann::ordered_json& json, const std::string& where);

/// Spaces before punctuation and contractions taken out, as transformers does where
/// `clean_up_tokenization_spaces` asks for it.
std::string CleanUpSpaces(std::string text);

}  // namespace natsl::model_adapters::tokenizers
