#include "model_adapters/remote/scoring.h"

#include <algorithm>

#include "core/cast.h"
#include "model_adapters/remote/answer_json.h"
#include "model_adapters/remote/echo_scoring.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

/// Whether ids are those that the server read.
void RequireCount(size_t found, const ScoreQuery& query, const char* what) {
  if (found == query.ids.size()) return;
  throw ModelError("{} has {} entries, expected {}: one a token that was sent", what, found,
                   query.ids.size());
}

/// {"1234": {"logprob": -1.5, "rank": 1, "decoded_token": ".."}, ...}, the read token's among them.
void ReadPromptLogprob(const Json& entry, TokenId id, size_t at, TokenScore& score, bool& greedy) {
  const std::string key = fmt::format("{}", id);
  const auto value = [&](const Json& one) -> float {
    if (!one.is_object() || !one.contains("logprob")) {
      throw ModelError("prompt_logprobs {} is {}, expected objects with \"logprob\"", at,
                       core::Describe(entry));
    }
    return ReadLogProb(one["logprob"], "prompt_logprobs", at);
  };
  if (!entry.is_object() || !entry.contains(key)) {
    throw ModelError("prompt_logprobs {} is {}, expected one of token {}", at,
                     core::Describe(entry), id);
  }
  const float own = value(entry[key]);
  score.log_probs.push_back(own);
  for (const auto& [other, one] : entry.items()) {
    if (other == key) continue;
    const float log_prob = one.is_object() && one.contains("logprob") && one["logprob"].is_number()
                               ? one["logprob"].get<float>()
                               : value(one);
    // Equal: the lowest id is the argmax, and shorter digits are the lower number.
    const bool lower = std::pair(other.size(), other) < std::pair(key.size(), key);
    if (log_prob > own || (log_prob == own && lower)) greedy = false;
  }
}

TokenScore ReadPromptLogprobs(const ScoreQuery& query, const Json& answer) {
  const Json& choice = FirstChoice(answer);
  if (!choice.contains("prompt_logprobs") || !choice["prompt_logprobs"].is_array()) {
    throw ModelError("the answer has no \"prompt_logprobs\" list");
  }
  const Json& list = choice["prompt_logprobs"];
  RequireCount(list.size(), query, "prompt_logprobs");
  TokenScore score;
  score.is_greedy = true;
  for (auto at = static_cast<size_t>(query.scored_from); at < query.ids.size(); ++at) {
    ReadPromptLogprob(list[at], query.ids[at], at, score, score.is_greedy);
  }
  return score;
}

/// [log-prob, id, text] of SGLang.
std::pair<float, int64_t> ReadTriple(const Json& entry, const char* what, size_t at) {
  if (!entry.is_array() || entry.size() < 2 || !entry[1].is_number_integer()) {
    throw ModelError("{} {} is {}, expected [log-probability, id, text]", what, at,
                     core::Describe(entry));
  }
  return {ReadLogProb(entry[0], what, at), entry[1].get<int64_t>()};
}

TokenScore ReadSglang(const ScoreQuery& query, const Json& answer) {
  const Json meta = answer.value("meta_info", Json::object());
  constexpr const char* kTokens = "input_token_logprobs";
  constexpr const char* kTop = "input_top_logprobs";
  if (!meta.is_object() || !meta.contains(kTokens) || !meta[kTokens].is_array() ||
      !meta.contains(kTop) || !meta[kTop].is_array()) {
    throw ModelError("the answer's \"meta_info\" has no lists {} and {}", kTokens, kTop);
  }
  RequireCount(meta[kTokens].size(), query, kTokens);
  RequireCount(meta[kTop].size(), query, kTop);
  TokenScore score;
  score.is_greedy = true;
  for (auto at = static_cast<size_t>(query.scored_from); at < query.ids.size(); ++at) {
    const auto [log_prob, id] = ReadTriple(meta[kTokens][at], kTokens, at);
    if (id != query.ids[at]) {
      throw ModelError("{} {} is of token {}, expected {}", kTokens, at, id, query.ids[at]);
    }
    score.log_probs.push_back(log_prob);
    const Json& top = meta[kTop][at];
    if (!top.is_array() || top.empty()) {
      throw ModelError("{} {} is {}, expected a list", kTop, at, core::Describe(top));
    }
    const auto [best, best_id] = ReadTriple(top[0], kTop, at);
    if (best > log_prob || (best == log_prob && best_id < id)) score.is_greedy = false;
  }
  return score;
}

ForcedScore ForcedOf(const std::vector<TokenId>& ids, int64_t position, const Json& answer) {
  constexpr const char* kList = "completion_probabilities";
  const TokenId id = ids[static_cast<size_t>(position)];
  if (answer.value("truncated", false)) throw ModelError("the server cut the prompt");
  if (const Json read = answer.value("tokens_evaluated", Json()); read != position) {
    throw ModelError("the server read {} tokens, expected the {} that were sent",
                     core::Describe(read), position);
  }
  if (!answer.contains(kList) || !answer[kList].is_array() || answer[kList].size() != 1 ||
      !answer[kList][0].is_object()) {
    throw ModelError(
        "the answer has no list {} with one object (llama.cpp's server gives none for token {} if "
        "that ends inside of a character)",
        kList, id);
  }
  const Json& entry = answer[kList][0];
  const Json top = entry.value("top_logprobs", Json::array());
  if (entry.value("id", Json()) != id || !top.is_array() || top.empty() || !top[0].is_object()) {
    throw ModelError("{} is {}, expected token {} with \"logprob\" and \"top_logprobs\"", kList,
                     core::Describe(entry), id);
  }
  const auto at = static_cast<size_t>(position);
  ForcedScore score;
  score.log_prob = ReadLogProb(entry.value("logprob", Json()), kList, at);
  const float best = ReadLogProb(top[0].value("logprob", Json()), "top_logprobs", at);
  const Json best_id = top[0].value("id", Json());
  if (!best_id.is_number_integer()) throw ModelError("top_logprobs has no token id");
  score.is_greedy =
      best < score.log_prob || (best == score.log_prob && id <= best_id.get<int64_t>());
  return score;
}

}  // namespace

const char* Name(LogprobForm form) {
  switch (form) {
    case LogprobForm::kPromptLogprobs:
      return "prompt_logprobs";
    case LogprobForm::kSglang:
      return "sglang";
    case LogprobForm::kEcho:
      return "echo";
    case LogprobForm::kForced:
      return "forced";
    case LogprobForm::kNone:
      break;
  }
  return "none";
}

int64_t SpareIds(LogprobForm form) { return form == LogprobForm::kForced ? 1 : 2; }

HttpRequest MakeScoreRequest(const ServerFacts& facts, const ScoreQuery& query) {
  Json body = Json::object();
  if (facts.logprobs == LogprobForm::kSglang) {
    body["input_ids"] = query.ids;
    body["sampling_params"] = {{"max_new_tokens", 1}, {"temperature", 0}};
    body["return_logprob"] = true;
    body["logprob_start_len"] = 0;
    body["top_logprobs_num"] = 1;
    return {facts.root + "/generate", body.dump()};
  }
  body["model"] = facts.model;
  if (query.send_text) {
    body["prompt"] = query.text;
  } else {
    body["prompt"] = query.ids;
  }
  // Not 0: some servers read it as "no limit".
  body["max_tokens"] = 1;
  body["temperature"] = 0;
  if (facts.logprobs == LogprobForm::kPromptLogprobs) {
    body["prompt_logprobs"] = 1;
    // Where the server has it: a start token of its own would shift every position.
    body["add_special_tokens"] = false;
  } else {
    body["echo"] = true;
    body["logprobs"] = 1;
  }
  return {facts.url + "/completions", body.dump()};
}

TokenScore ReadScore(const ServerFacts& facts, const ScoreQuery& query, const std::string& body) {
  const Json answer = ParseAnswer(body);
  return WithJsonErrors([&] {
    switch (facts.logprobs) {
      case LogprobForm::kPromptLogprobs:
        return ReadPromptLogprobs(query, answer);
      case LogprobForm::kSglang:
        return ReadSglang(query, answer);
      case LogprobForm::kEcho:
        return ReadEcho(query, answer);
      case LogprobForm::kForced:
      case LogprobForm::kNone:
        break;
    }
    throw InternalError("no score is read from an answer of form {}", Name(facts.logprobs));
  });
}

HttpRequest MakeForcedRequest(const ServerFacts& facts, const std::vector<TokenId>& ids,
                              int64_t position) {
  Json body = Json::object();
  body["prompt"] = std::vector<TokenId>(ids.begin(), ids.begin() + position);
  body["n_predict"] = 1;
  body["n_probs"] = 1;
  body["temperature"] = 0;
  body["cache_prompt"] = true;
  // The bias decides which token is taken; the probabilities are those before it.
  body["logit_bias"] = Json::array({Json::array({ids[static_cast<size_t>(position)], 1'000'000})});
  body["post_sampling_probs"] = false;
  body["response_fields"] = {"completion_probabilities", "tokens_evaluated", "truncated"};
  return {facts.root + "/completion", body.dump()};
}

ForcedScore ReadForced(const std::vector<TokenId>& ids, int64_t position, const std::string& body) {
  const Json answer = ParseAnswer(body);
  return WithJsonErrors([&] { return ForcedOf(ids, position, answer); });
}

std::string EchoedText(const ServerFacts& facts, const ScoreQuery& query, const std::string& body) {
  const Json answer = ParseAnswer(body);
  return WithJsonErrors([&] {
    std::string text;
    if (facts.logprobs == LogprobForm::kPromptLogprobs) {
      const Json& list = FirstChoice(answer).at("prompt_logprobs");
      for (size_t at = 1; at < query.ids.size(); ++at) {
        text += list.at(at).at(fmt::format("{}", query.ids[at])).value("decoded_token", "");
      }
    } else if (facts.logprobs == LogprobForm::kEcho) {
      const Json& tokens = FirstChoice(answer).at("logprobs").at("tokens");
      for (size_t at = 1; at < query.ids.size(); ++at) text += tokens.at(at).get<std::string>();
    }
    return text;
  });
}

}  // namespace natsl::model_adapters
