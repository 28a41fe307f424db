// Reading OpenAI's old form of log-probs of a prompt: {"tokens", "token_logprobs", "top_logprobs",
// "text_offset"}, a list entry a token of the echoed prompt and of what was made after it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model_adapters/remote/scoring.h"

namespace natsl::model_adapters {

/// Where only text was sent, the tokens are the server's: the boundary between context and
/// continuation must be the start of one, the echoed text must be what was sent, and where ids are
/// known there must be as many tokens. Throws Error (model) otherwise.
TokenScore ReadEcho(const ScoreQuery& query, const nlohmann::ordered_json& answer);

}  // namespace natsl::model_adapters
