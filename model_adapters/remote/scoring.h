// Log-probs of given texts, in the forms that servers have: the request's body, and reading the
// answer. No network. Answers are of others: everything in them is checked, and an Error (model)
// says what is wrong; a body that isn't whole JSON is a CutAnswer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model_adapters/remote/server_facts.h"
#include "model_adapters/remote/transport.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

/// One sequence to score. With a local tokenizer its ids are known, and either they are sent or, to
/// a server that takes only text, `text` is. Without one there is only text.
struct ScoreQuery {
  std::vector<TokenId> ids;  ///< empty: not known
  int64_t scored_from = 1;   ///< of ids
  std::string text;          ///< sent where `send_text`
  size_t boundary = 0;       ///< bytes of `text` before what is scored (only where ids are unknown)
  bool send_text = false;
  bool starts_with_bos = false;  ///< ids do, and `text` leaves it to the server
};

/// Not for kForced.
HttpRequest MakeScoreRequest(const ServerFacts& facts, const ScoreQuery& query);
/// log_probs are those of ids [scored_from, size), or of the tokens behind the boundary.
TokenScore ReadScore(const ServerFacts& facts, const ScoreQuery& query, const std::string& body);

/// kForced: one request an id, ids[position] given those before.
HttpRequest MakeForcedRequest(const ServerFacts& facts, const std::vector<TokenId>& ids,
                              int64_t position);
struct ForcedScore {
  float log_prob = 0;
  bool is_greedy = false;
};
ForcedScore ReadForced(const std::vector<TokenId>& ids, int64_t position, const std::string& body);

/// Texts of the prompt's tokens as the answer tells them, joined; "" where it doesn't. For finding
/// out at the start whether the local tokenizer is the server's.
std::string EchoedText(const ServerFacts& facts, const ScoreQuery& query, const std::string& body);

}  // namespace natsl::model_adapters
