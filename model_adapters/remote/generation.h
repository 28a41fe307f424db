// Generation by a server: the request's body, and reading the answer. No network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model_adapters/remote/server_facts.h"
#include "model_adapters/remote/transport.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

struct GenerateQuery {
  std::vector<TokenId> ids;  ///< the prompt; sent unless `text` is
  std::string text;
  bool send_text = false;
  std::vector<std::string> stop;
  int64_t max_new_tokens = 0;
  Sampling sampling;
  std::vector<TokenId> eos;  ///< removed from the end of what was made
};

/// Sampling that a server has of its own (penalties, top-k, min-p) is set to none where the kind of
/// server is known. Of the stop strings, a server of unknown kind gets four (OpenAI's limit): the
/// caller cuts at all of them.
HttpRequest MakeGenerateRequest(const ServerFacts& facts, const GenerateQuery& query);

struct ServedGeneration {
  TokenGeneration generation;            ///< with `text`; ids too where the server tells them
  std::optional<int64_t> prompt_tokens;  ///< as the server counts them
};
/// Throws CutAnswer, or Error (model): an answer of another form, a prompt that the server cut or
/// read as another number of ids, an end that is none of ours (a content filter).
ServedGeneration ReadGeneration(const ServerFacts& facts, const GenerateQuery& query,
                                const std::string& body);

}  // namespace natsl::model_adapters
