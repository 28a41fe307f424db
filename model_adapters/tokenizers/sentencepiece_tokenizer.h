// tokenizer.model and spiece.model, through the sentencepiece library.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model_adapters/tokenizer.h"
#include "model_adapters/tokenizers/config.h"

namespace natsl::model_adapters::tokenizers {

/// `bytes` is the content of the file, `where` its name in errors. Throws Error (model).
std::shared_ptr<const Tokenizer> OpenSentencePiece(std::string_view bytes, const std::string& where,
                                                   const TokenizerConfig& config);

}  // namespace natsl::model_adapters::tokenizers
