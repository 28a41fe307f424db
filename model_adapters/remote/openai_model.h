// `openai:URL,...`: a model behind a server with OpenAI's interface. What the user has to know is
// in docs/served_models.md.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model_adapters/remote/openai_server.h"
#include "model_adapters/tokenized_model.h"

namespace natsl::model_adapters {

struct OpenServedOptions {
  std::string tokenizer;              ///< where the model string names none; "": none
  std::optional<int64_t> max_length;  ///< where the model string gives none
  TextOptions text;
};

/// Connects, finds out what the server can do, and reads the local tokenizer where one is given.
/// Throws Error (usage, model).
std::unique_ptr<LanguageModel> OpenServedModel(const std::string& model,
                                               const OpenServedOptions& options);

/// The same on a connection of the caller's (tests).
std::unique_ptr<LanguageModel> MakeServedModel(const std::string& name,
                                               std::unique_ptr<OpenAiServer> server,
                                               std::shared_ptr<const Tokenizer> tokenizer,
                                               const OpenServedOptions& options);

/// With a local tokenizer: ids in. Sessions and traces are an Error (usage).
std::unique_ptr<TokenModel> MakeServedTokenModel(std::shared_ptr<OpenAiServer> server,
                                                 std::shared_ptr<const Tokenizer> tokenizer,
                                                 const ModelInfo& info);
/// Text in: without a tokenizer, or chat. `tokenizer` may be null.
std::unique_ptr<LanguageModel> MakeServedTextModel(std::shared_ptr<OpenAiServer> server,
                                                   std::shared_ptr<const Tokenizer> tokenizer,
                                                   const ModelInfo& info,
                                                   const TextOptions& options);

}  // namespace natsl::model_adapters
