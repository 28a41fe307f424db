#include "model_adapters/remote/generation.h"

#include <algorithm>

#include "core/cast.h"
#include "model_adapters/remote/answer_json.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

constexpr size_t kOpenAiStops = 4;

bool IsLlamaCpp(const ServerFacts& facts) { return facts.kind == "llama.cpp" && !facts.chat; }
bool IsSglang(const ServerFacts& facts) {
  return facts.kind == "sglang" && facts.takes_ids && !facts.chat;
}

/// Stop strings to send, and the number of tokens: an empty stop string is met by the first one.
std::vector<std::string> Stops(const ServerFacts& facts, const GenerateQuery& query,
                               int64_t& max_new_tokens) {
  std::vector<std::string> stops;
  for (const std::string& stop : query.stop) {
    if (stop.empty()) {
      max_new_tokens = 1;
    } else {
      stops.push_back(stop);
    }
  }
  if (facts.kind == "unknown" && stops.size() > kOpenAiStops) stops.resize(kOpenAiStops);
  return stops;
}

void AddSampling(const ServerFacts& facts, const Sampling& sampling, Json& body) {
  body["temperature"] = sampling.temperature;
  if (sampling.temperature == 0 && facts.kind == "unknown") return;  // the rest has no effect
  body["top_p"] = sampling.top_p;
  if (facts.kind == "llama.cpp" || facts.kind == "llama-cpp-python") {
    body["top_k"] = sampling.top_k;
    body["min_p"] = 0;
    body["repeat_penalty"] = 1;
  } else if (facts.kind == "vllm" || facts.kind == "sglang") {
    body["top_k"] = sampling.top_k > 0 ? sampling.top_k : -1;
    body["min_p"] = 0;
    body["repetition_penalty"] = 1;
  } else if (sampling.top_k > 0) {
    body["top_k"] = sampling.top_k;
  }
  // Servers' generators have seeds of other widths.
  if (sampling.temperature > 0) body["seed"] = sampling.seed & 0x7FFF'FFFF;
}

Json Prompt(const GenerateQuery& query) {
  if (query.send_text) return query.text;
  return query.ids;
}

FinishReason ReadFinish(const Json& value, const Json& stop_reason, const GenerateQuery& query) {
  const std::string name = value.is_string() ? value.get<std::string>() : core::Describe(value);
  if (name == "length") return FinishReason::kLength;
  if (name == "eos" || name == "eos_token") return FinishReason::kEos;
  if (name == "stop_sequence") return FinishReason::kStop;
  if (name == "stop") {
    if (stop_reason.is_string()) return FinishReason::kStop;
    // vLLM says null at the model's own end; others don't say: without stop strings it was that.
    return query.stop.empty() || stop_reason.is_number() ? FinishReason::kEos : FinishReason::kStop;
  }
  throw ModelError("the server ended the text by {}, expected stop or length", name);
}

std::vector<TokenId> ReadIds(const Json& value, const GenerateQuery& query) {
  std::vector<TokenId> ids;
  if (!value.is_array()) return ids;
  for (const Json& id : value) {
    const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (number < 0 || number > INT32_MAX) {
      throw ModelError("the server's token ids hold {}", core::Describe(id));
    }
    ids.push_back(static_cast<TokenId>(number));
  }
  while (!ids.empty() &&
         std::find(query.eos.begin(), query.eos.end(), ids.back()) != query.eos.end())
    ids.pop_back();
  return ids;
}

std::optional<int64_t> ReadCount(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer()) return {};
  const auto count = object[key].get<int64_t>();
  if (count < 0) throw ModelError("{} is {}, expected a count", key, count);
  return count;
}

/// llama.cpp's /completion.
ServedGeneration ReadLlamaCpp(const GenerateQuery& query, const Json& answer) {
  if (answer.value("truncated", false)) throw ModelError("the server cut the prompt");
  ServedGeneration out;
  out.generation.text = answer.at("content").get<std::string>();
  out.generation.ids = ReadIds(answer.value("tokens", Json()), query);
  out.generation.tokens = ReadCount(answer, "tokens_predicted").value_or(0);
  out.prompt_tokens = ReadCount(answer, "tokens_evaluated");
  const std::string type = answer.at("stop_type").get<std::string>();
  out.generation.finish = type == "eos"    ? FinishReason::kEos
                          : type == "word" ? FinishReason::kStop
                                           : FinishReason::kLength;
  return out;
}

/// SGLang's /generate.
ServedGeneration ReadSglang(const GenerateQuery& query, const Json& answer) {
  ServedGeneration out;
  const Json& meta = answer.at("meta_info");
  out.generation.text = answer.at("text").get<std::string>();
  out.generation.ids = ReadIds(answer.value("output_ids", Json()), query);
  out.generation.tokens = ReadCount(meta, "completion_tokens").value_or(0);
  out.prompt_tokens = ReadCount(meta, "prompt_tokens");
  const Json& reason = meta.at("finish_reason");
  out.generation.finish = ReadFinish(reason.at("type"), reason.value("matched", Json()), query);
  return out;
}

ServedGeneration ReadOpenAi(const ServerFacts& facts, const GenerateQuery& query,
                            const Json& answer) {
  const Json& choice = FirstChoice(answer);
  ServedGeneration out;
  const Json& text = facts.chat ? choice.at("message").at("content") : choice.at("text");
  // A chat model that was cut while it was still thinking has said nothing.
  out.generation.text = text.is_null() && facts.chat ? "" : text.get<std::string>();
  const Json usage = answer.value("usage", Json());
  out.generation.tokens = ReadCount(usage, "completion_tokens").value_or(0);
  if (!facts.chat) {
    out.generation.ids = ReadIds(choice.value("token_ids", Json()), query);
    out.prompt_tokens = ReadCount(usage, "prompt_tokens");
  }
  out.generation.finish =
      ReadFinish(choice.at("finish_reason"), choice.value("stop_reason", Json()), query);
  return out;
}

}  // namespace

HttpRequest MakeGenerateRequest(const ServerFacts& facts, const GenerateQuery& query) {
  int64_t max_new_tokens = query.max_new_tokens;
  const std::vector<std::string> stops = Stops(facts, query, max_new_tokens);
  Json body = Json::object();
  if (IsSglang(facts)) {
    body[query.send_text ? "text" : "input_ids"] = Prompt(query);
    Json sampling = Json::object();
    AddSampling(facts, query.sampling, sampling);
    sampling.erase("seed");
    if (query.sampling.temperature > 0) {
      sampling["sampling_seed"] = query.sampling.seed & 0x7FFF'FFFF;
    }
    sampling["max_new_tokens"] = max_new_tokens;
    if (!stops.empty()) sampling["stop"] = stops;
    body["sampling_params"] = sampling;
    return {facts.root + "/generate", body.dump()};
  }
  if (IsLlamaCpp(facts)) {
    body["prompt"] = Prompt(query);
    body["n_predict"] = max_new_tokens;
    body["return_tokens"] = true;
    body["cache_prompt"] = true;
    body["response_fields"] = {"content",          "tokens",    "tokens_predicted",
                               "tokens_evaluated", "stop_type", "truncated"};
    if (!stops.empty()) body["stop"] = stops;
    AddSampling(facts, query.sampling, body);
    return {facts.root + "/completion", body.dump()};
  }
  body["model"] = facts.model;
  if (facts.chat) {
    body["messages"] = Json::array({{{"role", "user"}, {"content", query.text}}});
  } else {
    body["prompt"] = Prompt(query);
  }
  body[facts.max_tokens_key] = max_new_tokens;
  if (!stops.empty()) body["stop"] = stops;
  AddSampling(facts, query.sampling, body);
  if (facts.kind == "vllm" && !facts.chat) body["return_token_ids"] = true;
  return {facts.url + (facts.chat ? "/chat/completions" : "/completions"), body.dump()};
}

ServedGeneration ReadGeneration(const ServerFacts& facts, const GenerateQuery& query,
                                const std::string& body) {
  const Json answer = ParseAnswer(body);
  ServedGeneration out = WithJsonErrors([&] {
    return IsSglang(facts)     ? ReadSglang(query, answer)
           : IsLlamaCpp(facts) ? ReadLlamaCpp(query, answer)
                               : ReadOpenAi(facts, query, answer);
  });
  if (!query.send_text && out.prompt_tokens && *out.prompt_tokens != core::Size(query.ids)) {
    throw ModelError("the server read {} tokens, expected the {} that were sent",
                     *out.prompt_tokens, query.ids.size());
  }
  // The local tokenizer makes the text as it does for a native model's ids.
  if (!out.generation.ids.empty()) out.generation.text.reset();
  return out;
}

}  // namespace natsl::model_adapters
