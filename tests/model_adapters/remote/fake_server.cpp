#include "tests/model_adapters/remote/fake_server.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/utf8.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

double LogProb(TokenId id, size_t position) {
  return -(static_cast<double>(id) + static_cast<double>(position)) / 100;
}

/// As Python decodes with errors="ignore": a part of a character is nothing.
std::string Text(std::span<const TokenId> ids) {
  static const ByteTokenizer tokenizer(true);
  std::string text = tokenizer.Decode(ids, false);
  if (const size_t bad = core::FindInvalidUtf8(text); bad != std::string::npos) text.resize(bad);
  return text;
}
std::string MadeText(const std::vector<TokenId>& made) {
  std::string text = ByteTokenizer(true).Decode(made, true);
  if (const size_t bad = core::FindInvalidUtf8(text); bad != std::string::npos) text.resize(bad);
  return text;
}
std::string Text(TokenId id) { return Text(std::span(&id, 1)); }

std::vector<TokenId> ReadPrompt(const Json& prompt) {
  if (prompt.is_array()) return prompt.get<std::vector<TokenId>>();
  return ByteTokenizer(true).Encode(prompt.get<std::string>(), true);
}

/// Id 0 is as likely as -position / 100: the argmax, unless the id itself is even.
double Best(TokenId id, size_t position) {
  return id % 2 == 0 ? LogProb(id, position) : LogProb(0, position);
}

std::vector<TokenId> Made(const std::vector<TokenId>& prompt, int64_t count) {
  std::vector<TokenId> made;
  for (size_t i = 0; std::cmp_less(i, count); ++i) made.push_back(prompt[i % prompt.size()]);
  return made;
}

RawAnswer Models(FakeKind kind) {
  Json model = {{"id", "fake"}, {"object", "model"}};
  if (kind == FakeKind::kVllm) {
    model["owned_by"] = "vllm";
    model["max_model_len"] = 64;
  } else if (kind == FakeKind::kSglang) {
    model["owned_by"] = "sglang";
    model["max_model_len"] = 64;
  } else if (kind == FakeKind::kLlamaCpp) {
    model["owned_by"] = "llamacpp";
    model["meta"] = {{"n_ctx_train", 128}, {"n_vocab", 301}};
  } else if (kind == FakeKind::kLlamaCppPython) {
    model["owned_by"] = "me";
  } else {
    model["owned_by"] = "someone";
  }
  return Reply(200, Json({{"object", "list"}, {"data", Json::array({model})}}).dump());
}

Json EchoLists(const std::vector<TokenId>& ids, bool list_bos, const Json& made) {
  Json lists;
  lists["tokens"] = lists["token_logprobs"] = lists["top_logprobs"] = lists["text_offset"] =
      Json::array();
  std::vector<TokenId> all = ids;
  all.push_back(made[0].get<TokenId>());
  if (!list_bos && all.front() == 256) all.erase(all.begin());
  const size_t unlisted = ids.size() + 1 - all.size();
  for (size_t i = 0; i < all.size(); ++i) {
    lists["tokens"].push_back(Text(all[i]));
    lists["text_offset"].push_back(core::CountCodePoints(Text(std::span(all).first(i))));
    const bool first = i == 0;
    const size_t position = i + unlisted;
    lists["token_logprobs"].push_back(first ? Json() : Json(LogProb(all[i], position)));
    Json top = {{Text(all[i]), LogProb(all[i], position)}};
    if (all[i] % 2 != 0) top["~"] = Best(all[i], position);
    lists["top_logprobs"].push_back(first ? Json() : top);
  }
  return lists;
}

RawAnswer Completions(FakeKind kind, const Json& body) {
  if (kind == FakeKind::kLlamaCppPython && !body["prompt"].is_string()) {
    return Reply(422, R"({"detail": "prompt must be a string"})");
  }
  if (kind == FakeKind::kOpenAi && body.contains("prompt_logprobs")) {
    return Reply(400, R"({"error": {"message": "Unrecognized argument: prompt_logprobs"}})");
  }
  const std::vector<TokenId> ids = ReadPrompt(body["prompt"]);
  const std::vector<TokenId> made = Made(ids, body.value("max_tokens", 16));
  Json choice = {{"index", 0}, {"finish_reason", "length"}};
  choice["text"] = MadeText(made);
  if (kind == FakeKind::kVllm && body.contains("prompt_logprobs")) {
    choice["prompt_logprobs"] = Json::array({nullptr});
    for (size_t i = 1; i < ids.size(); ++i) {
      Json entry;
      entry[std::to_string(ids[i])] = {{"logprob", LogProb(ids[i], i)},
                                       {"decoded_token", Text(ids[i])}};
      if (ids[i] % 2 != 0) entry["0"] = {{"logprob", Best(ids[i], i)}, {"decoded_token", "~"}};
      choice["prompt_logprobs"].push_back(entry);
    }
  }
  if (body.value("echo", false) && kind != FakeKind::kLlamaCpp) {
    choice["logprobs"] = EchoLists(ids, kind != FakeKind::kLlamaCppPython, made);
  }
  if (kind == FakeKind::kVllm && body.contains("return_token_ids")) choice["token_ids"] = made;
  return Reply(
      200, Json({{"choices", Json::array({choice})},
                 {"usage", {{"prompt_tokens", ids.size()}, {"completion_tokens", made.size()}}}})
               .dump());
}

RawAnswer Sglang(const Json& body) {
  const std::vector<TokenId> ids = ReadPrompt(body["input_ids"]);
  const std::vector<TokenId> made = Made(ids, body["sampling_params"]["max_new_tokens"]);
  Json meta = {{"prompt_tokens", ids.size()},
               {"completion_tokens", made.size()},
               {"finish_reason", {{"type", "length"}}}};
  meta["input_token_logprobs"] = Json::array();
  meta["input_top_logprobs"] = Json::array();
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool even = ids[i] % 2 == 0;
    meta["input_token_logprobs"].push_back(
        Json::array({i == 0 ? Json() : Json(LogProb(ids[i], i)), ids[i], nullptr}));
    meta["input_top_logprobs"].push_back(
        i == 0 ? Json()
               : Json::array({Json::array({Best(ids[i], i), even ? ids[i] : 0, nullptr})}));
  }
  return Reply(200,
               Json({{"text", MadeText(made)}, {"output_ids", made}, {"meta_info", meta}}).dump());
}

RawAnswer LlamaCpp(const Json& body) {
  const std::vector<TokenId> ids = ReadPrompt(body["prompt"]);
  std::vector<TokenId> made = Made(ids, body.value("n_predict", 16));
  Json answer = {{"tokens_evaluated", ids.size()}, {"truncated", false}, {"stop_type", "limit"}};
  if (body.contains("logit_bias")) {
    const auto id = body["logit_bias"][0][0].get<TokenId>();
    const size_t at = ids.size();
    made = {id};
    Json top = {{"id", id % 2 == 0 ? id : 0}, {"logprob", Best(id, at)}};
    answer["completion_probabilities"] = Json::array(
        {{{"id", id}, {"logprob", LogProb(id, at)}, {"top_logprobs", Json::array({top})}}});
  }
  answer["content"] = MadeText(made);
  answer["tokens"] = made;
  answer["tokens_predicted"] = made.size();
  return Reply(200, answer.dump());
}

}  // namespace

RawAnswer FakeAnswer(FakeKind kind, const SeenRequest& request) {
  const Json body = request.body.empty() ? Json() : Json::parse(request.body);
  if (request.path == "/v1/models") return Models(kind);
  if (request.path == "/version" && kind == FakeKind::kVllm) {
    return Reply(200, R"({"version": "0.11.0"})");
  }
  if (request.path == "/get_server_info" && kind == FakeKind::kSglang) {
    return Reply(200, R"({"tokenizer_path": "x", "version": "0.5", "context_length": 64})");
  }
  if (request.path == "/props" && kind == FakeKind::kLlamaCpp) {
    return Reply(200, R"({"default_generation_settings": {"n_ctx": 64}, "build_info": "b1"})");
  }
  if (request.path == "/generate" && kind == FakeKind::kSglang) return Sglang(body);
  if (request.path == "/completion" && kind == FakeKind::kLlamaCpp) return LlamaCpp(body);
  if (request.path == "/detokenize" && kind == FakeKind::kLlamaCpp) {
    const auto ids = body["tokens"].get<std::vector<TokenId>>();
    return Reply(200, Json({{"content", ByteTokenizer(true).Decode(ids, false)}}).dump());
  }
  if (request.path == "/v1/completions" && kind != FakeKind::kChatOnly) {
    return Completions(kind, body);
  }
  if (request.path == "/v1/chat/completions") {
    if (kind == FakeKind::kChatOnly && body.contains("max_tokens")) {
      return Reply(400, R"({"error": {"message": "Use 'max_completion_tokens' instead."}})");
    }
    const std::string prompt = body["messages"][0]["content"];
    Json choice = {{"finish_reason", "stop"},
                   {"message", {{"role", "assistant"}, {"content", "You said: " + prompt}}}};
    return Reply(200, Json({{"choices", Json::array({choice})}}).dump());
  }
  return Reply(404, R"({"detail": "Not Found"})");
}

}  // namespace natsl::model_adapters
