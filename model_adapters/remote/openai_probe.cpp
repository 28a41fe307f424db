#include "model_adapters/remote/openai_probe.h"

#include <algorithm>
#include <array>

#include "core/cast.h"
#include "core/json.h"
#include "core/utf8.h"
#include "model_adapters/remote/answer_json.h"
#include "model_adapters/remote/generation.h"
#include "model_adapters/remote/scoring.h"

namespace natsl::model_adapters {
namespace {

using core::Json;

constexpr const char* kTrialText = "The quick brown fox jumps over the lazy dog.";
constexpr int64_t kTrialTokens = 16;

bool IsSuccess(const HttpAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

/// A GET whose answer is a JSON object; null where there is no such thing (`why` says then what
/// came instead).
Json Get(OpenAiServer& server, const std::string& url, std::string* why = nullptr) {
  const HttpAnswer answer = server.Ask({url, ""});
  std::string reason = Judge(answer).reason;
  if (IsSuccess(answer)) {
    try {
      return ParseAnswer(answer.body);
    } catch (const std::exception& error) {  // CutAnswer or Error: it isn't what was asked for
      reason = error.what();
    }
  }
  if (why != nullptr) *why = reason;
  return nullptr;
}

int64_t Count(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer()) continue;
    const auto value = object[key].get<int64_t>();
    if (value > 0) return value;
  }
  return 0;
}

std::string Text(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : "";
}

void ChooseModel(OpenAiServer& server) {
  ServerFacts& facts = server.facts();
  std::string why;
  const Json models = Get(server, facts.url + "/models", &why);
  const Json list = models.is_object() ? models.value("data", Json::array()) : Json::array();
  const Json* chosen = nullptr;
  std::string names;
  for (const Json& model : list) {
    const std::string name = Text(model, "id");
    if (name.empty()) continue;
    names += (names.empty() ? "" : ", ") + name;
    if (facts.model.empty() ? list.size() == 1 : name == facts.model) chosen = &model;
  }
  if (chosen == nullptr && facts.model.empty()) {
    throw UsageError("--model openai:{}: {}; add model=NAME", facts.url,
                     !names.empty() ? "the server has " + names
                     : why.empty()  ? "the server names no model"
                                    : "the server names no model (" + why + ")");
  }
  if (chosen == nullptr) return;  // proxies serve models that they don't list
  facts.model = Text(*chosen, "id");
  const Json meta = chosen->value("meta", Json());
  facts.context = Count(*chosen, {"max_model_len", "context_length", "context_window"});
  if (facts.context == 0) facts.context = Count(meta, {"n_ctx", "n_ctx_train"});
  facts.vocabulary = Count(meta, {"n_vocab"});
  facts.parameters = Count(meta, {"n_params"});
  const std::string owner = Text(*chosen, "owned_by");
  facts.kind = owner == "vllm" || owner == "sglang" ? owner
               : owner == "llamacpp"                ? "llama.cpp"
               : owner == "me"                      ? "llama-cpp-python"
                                                    : "unknown";
}

/// What the server's own interface tells beside OpenAI's.
void AskOwnInterface(OpenAiServer& server) {
  ServerFacts& facts = server.facts();
  const bool unknown = facts.kind == "unknown";
  if (unknown || facts.kind == "llama.cpp") {
    const Json props = Get(server, facts.root + "/props");
    if (props.is_object() && props.contains("default_generation_settings")) {
      facts.kind = "llama.cpp";
      facts.version = Text(props, "build_info");
      if (const int64_t context = Count(props["default_generation_settings"], {"n_ctx"})) {
        facts.context = context;
      }
      return;
    }
  }
  if (unknown || facts.kind == "sglang") {
    const Json info = Get(server, facts.root + "/get_server_info");
    if (info.is_object() && info.contains("tokenizer_path")) {
      facts.kind = "sglang";
      facts.version = Text(info, "version");
      if (const int64_t context = Count(info, {"context_length"})) facts.context = context;
      return;
    }
  }
  if (unknown || facts.kind == "vllm") {
    facts.version = Text(Get(server, facts.root + "/version"), "version");
  }
  if (facts.kind == "llama-cpp-python") {
    const Json api = Get(server, facts.root + "/openapi.json");
    if (api.is_object()) facts.version = Text(api.value("info", Json()), "version");
  }
}

void RequireSameTokenizer(const ServerFacts& facts, const Tokenizer& tokenizer,
                          const std::vector<TokenId>& ids, const std::string& served) {
  const std::string ours = tokenizer.Decode(std::span(ids).subspan(1), false);
  if (served.empty() || core::PythonStrip(served) == core::PythonStrip(ours)) return;
  throw ModelError(
      "the local tokenizer isn't that of {} at {}: its ids of \"{}\" are \"{}\" to the server",
      facts.model, facts.url, ours, ErrorMessage(served));
}

ScoreQuery TrialQuery(const std::vector<TokenId>& ids, const Tokenizer* tokenizer, bool send_text) {
  ScoreQuery query;
  query.ids = ids;
  query.send_text = send_text;
  if (send_text) query.text = kTrialText;
  if (tokenizer != nullptr && !ids.empty()) {
    query.starts_with_bos = ids.front() == tokenizer->special_tokens().bos;
  }
  // The first word at least is context: not every server scores a first token.
  query.boundary = std::string_view(kTrialText).find(' ');
  query.scored_from = std::min<int64_t>(2, core::Size(ids) - 1);
  return query;
}

/// Whether a form of log-probs works; why not goes to facts.refused.
bool Try(OpenAiServer& server, LogprobForm form, bool send_text, const std::vector<TokenId>& ids,
         const Tokenizer* tokenizer) {
  ServerFacts& facts = server.facts();
  const LogprobForm before = facts.logprobs;
  facts.logprobs = form;
  std::string why;
  try {
    const ScoreQuery query = TrialQuery(ids, tokenizer, send_text);
    const bool forced = form == LogprobForm::kForced;
    const int64_t last = core::Size(ids) - 1;
    const HttpAnswer answer =
        server.Ask(forced ? MakeForcedRequest(facts, ids, last) : MakeScoreRequest(facts, query));
    if (IsSuccess(answer)) {
      std::string served;
      if (forced) {
        ReadForced(ids, last, answer.body);
        Json tokens = Json::object();
        tokens["tokens"] = std::vector<TokenId>(ids.begin() + 1, ids.end());
        const HttpAnswer text = server.Ask({facts.root + "/detokenize", tokens.dump()});
        if (IsSuccess(text)) served = Text(ParseAnswer(text.body), "content");
      } else {
        ReadScore(facts, query, answer.body);
        if (!send_text) served = EchoedText(facts, query, answer.body);
      }
      facts.takes_ids = !send_text;
      if (!send_text) RequireSameTokenizer(facts, *tokenizer, ids, served);
      return true;
    }
    why = Judge(answer).reason;
  } catch (const CutAnswer& cut) {
    why = cut.what();
  } catch (const Error& error) {
    if (facts.takes_ids) throw;  // it works, with another tokenizer
    why = error.what();
  }
  facts.logprobs = before;
  facts.refused.push_back(fmt::format("{} ({}): {}", Name(form), send_text ? "text" : "ids", why));
  return false;
}

void FindLogprobs(OpenAiServer& server, const std::vector<TokenId>& ids,
                  const Tokenizer* tokenizer) {
  const ServedOptions& options = server.options();
  const ServerFacts& facts = server.facts();
  if (options.logprobs == "none") return;
  struct Candidate {
    LogprobForm form;
    bool send_text;
    bool likely;
  };
  const bool unknown = facts.kind == "unknown";
  const std::array<Candidate, 5> candidates = {{
      {LogprobForm::kPromptLogprobs, false, unknown || facts.kind == "vllm"},
      {LogprobForm::kSglang, false, facts.kind == "sglang"},
      {LogprobForm::kForced, false, facts.kind == "llama.cpp"},
      {LogprobForm::kEcho, false, true},
      {LogprobForm::kEcho, true, true},
  }};
  for (const Candidate& candidate : candidates) {
    const bool asked = options.logprobs == Name(candidate.form);
    if (options.logprobs == "auto" ? !candidate.likely : !asked) continue;
    if (candidate.send_text ? options.prompts == "ids" : options.prompts == "text") continue;
    if (!candidate.send_text && tokenizer == nullptr) continue;
    if (Try(server, candidate.form, candidate.send_text, ids, tokenizer)) return;
  }
}

/// One short generation: whether the server works at all, whether it takes ids, and under which
/// name it takes the number of tokens.
void TryGeneration(OpenAiServer& server, const std::vector<TokenId>& ids) {
  ServerFacts& facts = server.facts();
  GenerateQuery query;
  query.ids = ids;
  query.text = kTrialText;
  query.max_new_tokens = kTrialTokens;
  query.send_text = facts.chat || ids.empty() || server.options().prompts == "text";
  const auto attempt = [&]() -> std::string {
    const HttpAnswer answer = server.Ask(MakeGenerateRequest(facts, query));
    if (!IsSuccess(answer)) return Judge(answer).reason;
    try {
      ReadGeneration(facts, query, answer.body);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  std::string why = attempt();
  if (why.find("max_completion_tokens") != std::string::npos) {
    facts.max_tokens_key = "max_completion_tokens";
    why = attempt();
  }
  facts.takes_ids = why.empty() && !query.send_text;
  if (!why.empty() && !query.send_text && server.options().prompts != "ids") {
    query.send_text = true;
    why = attempt();
  }
  if (!why.empty()) {
    throw ModelError("{}: a trial request to model {} failed: {}", facts.url, facts.model, why);
  }
}

}  // namespace

void Probe(OpenAiServer& server, const Tokenizer* tokenizer) {
  ServerFacts& facts = server.facts();
  ChooseModel(server);
  AskOwnInterface(server);
  std::vector<TokenId> ids;
  if (tokenizer != nullptr) {
    ids = tokenizer->Encode(kTrialText, /*add_special_tokens=*/true);
    if (facts.vocabulary > 0 && tokenizer->vocabulary_size() > facts.vocabulary) {
      throw ModelError("the local tokenizer has {} ids, the model {} at {} only {}",
                       tokenizer->vocabulary_size(), facts.model, facts.url, facts.vocabulary);
    }
  }
  TryGeneration(server, ids);
  if (facts.chat) return;
  const bool generates_by_ids = facts.takes_ids;
  facts.takes_ids = false;
  FindLogprobs(server, ids, tokenizer);
  // Scores decide; where there are none, generation does.
  if (facts.logprobs == LogprobForm::kNone) facts.takes_ids = generates_by_ids;
}

}  // namespace natsl::model_adapters
