// Finding out what a server is and how it gives log-probs, by asking and by trying.
#pragma once

#include <memory>

#include "model_adapters/remote/openai_server.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

/// Fills server.facts(). `tokenizer` may be null. Throws Error (model): no answer, a key refused, a
/// local tokenizer that isn't the server's; Error (usage): the server has several models and none
/// is named. A server without log-probs isn't an error before they are asked for.
void Probe(OpenAiServer& server, const Tokenizer* tokenizer);

}  // namespace natsl::model_adapters
