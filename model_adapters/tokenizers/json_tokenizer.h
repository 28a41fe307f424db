// The tokenizer of a tokenizer.json: added tokens, normalizer, pre-tokenizer, model, post-processor
// and decoder, in Hugging Face's order.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model_adapters/tokenizer.h"
#include "model_adapters/tokenizers/config.h"

namespace natsl::model_adapters::tokenizers {

/// `text` is the content of a tokenizer.json, `where` its name in errors. Throws Error (model).
std::shared_ptr<const Tokenizer> OpenJsonTokenizer(std::string_view text, const std::string& where,
                                                   const TokenizerConfig& config);

}  // namespace natsl::model_adapters::tokenizers
