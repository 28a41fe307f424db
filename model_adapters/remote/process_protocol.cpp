#include "model_adapters/remote/process_protocol.h"

#include <cmath>

#include "core/cast.h"
#include "core/json.h"
#include "core/limits.h"
#include "model_adapters/remote/retry.h"

namespace natsl::model_adapters {
namespace {

using core::Json;
using core::JsonObject;

constexpr int64_t kProtocolVersion = 1;
constexpr int64_t kMostTokens = int64_t{1} << 40;

/// The start of a line, for a message.
std::string Shown(const std::string& line) { return ErrorMessage(line.substr(0, 400)); }

Json ParseLine(const std::string& line) {
  try {
    Json json = core::ParseJson(
        line, "line", ErrorCode::kModel,
        {.max_depth = limits::kMaxRemoteJsonDepth, .python_numbers = true, .unique_keys = true});
    if (json.is_object()) return json;
  } catch (const Error&) {
  }
  throw ProtocolError(fmt::format(
      "its stdout carries \"{}\", expected one JSON object a line and nothing else (what is for "
      "people goes to stderr)",
      Shown(line)));
}

int64_t Count(const JsonObject& object, const char* key) {
  if (!object.Has(key)) return 0;
  const int64_t value = object.Int(key);
  if (value < 0 || value > kMostTokens) throw object.Wrong(key, "a count");
  return value;
}

double LogProb(const JsonObject& object, const char* key) {
  const double value = object.Double(key);
  if (!std::isfinite(value) || value > 1e-3) {
    throw object.Wrong(key, "a finite log-probability of at most 0");
  }
  return value;
}

std::string OptionalString(const JsonObject& object, const char* key) {
  return object.Has(key) ? object.String(key) : "";
}

/// False where the process says that it failed.
bool ReadBase(const JsonObject& object, ResultBase& result) {
  if (object.Has("error")) {
    result.error = ErrorMessage(object.String("error"));
    return false;
  }
  result.context_tokens = Count(object, "context_tokens");
  result.output_tokens = Count(object, "output_tokens");
  result.truncated_tokens = Count(object, "truncated_tokens");
  if (object.Has("skipped")) result.skipped = object.Bool("skipped");
  return true;
}

std::vector<float> TokenLogProbs(const JsonObject& object) {
  constexpr const char* kKey = "token_log_probs";
  std::vector<float> out;
  if (!object.Has(kKey)) return out;
  const Json& list = object.At(kKey);
  if (!list.is_array()) throw object.Wrong(kKey, "a list of log-probabilities");
  for (const Json& value : list) {
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (!std::isfinite(number) || number > 1e-3) {
      throw object.Wrong(kKey, "finite log-probabilities of at most 0");
    }
    out.push_back(static_cast<float>(number));
  }
  return out;
}

template <typename Result>
void ReadScored(const JsonObject& object, Result& result) {
  result.log_prob = LogProb(object, "log_prob");
  result.token_log_probs = TokenLogProbs(object);
  if (result.token_log_probs.empty()) return;
  if (result.output_tokens == 0) result.output_tokens = core::Size(result.token_log_probs);
  double sum = 0;
  for (const float value : result.token_log_probs) sum += static_cast<double>(value);
  if (core::Size(result.token_log_probs) != result.output_tokens ||
      std::fabs(sum - result.log_prob) > 1e-3 * (1 + std::fabs(sum))) {
    throw object.Wrong("log_prob", "the sum of output_tokens token_log_probs");
  }
}

/// Reads into a fresh result, so that a wrong answer leaves nothing behind.
template <typename Result, typename Body>
void ReadInto(const ProcessAnswer& answer, Result& result, const Body& body) {
  const Json json = ParseLine(answer.line);
  const JsonObject object(json, fmt::format("answer {}", answer.id), ErrorCode::kModel);
  Result fresh;
  if (ReadBase(object, fresh) && !fresh.skipped) body(object, fresh);
  result = std::move(fresh);
}

FinishReason ReadFinish(const JsonObject& object) {
  const std::string name = object.String("finish");
  for (const FinishReason reason :
       {FinishReason::kEos, FinishReason::kStop, FinishReason::kLength}) {
    if (name == Name(reason)) return reason;
  }
  throw object.Wrong("finish", "eos, stop or length");
}

void Write(const LoglikelihoodRequest& request, Json& json) {
  json["type"] = "loglikelihood";
  json["context"] = request.context;
  json["continuation"] = request.continuation;
}
void Write(const RollingRequest& request, Json& json) {
  json["type"] = "rolling";
  json["text"] = request.text;
  if (request.max_length) json["max_length"] = *request.max_length;
  if (request.whole_windows) json["whole_windows"] = *request.whole_windows;
  if (!request.packed.empty()) json["packed"] = request.packed;
}
void Write(const GenerateRequest& request, Json& json) {
  json["type"] = "generate";
  json["prompt"] = request.prompt;
  json["stop"] = request.stop;
  json["max_new_tokens"] = request.max_new_tokens;
  json["temperature"] = request.sampling.temperature;
  json["top_k"] = request.sampling.top_k;
  json["top_p"] = request.sampling.top_p;
  json["seed"] = request.sampling.seed;
  if (request.middle_truncate_to) json["middle_truncate_to"] = *request.middle_truncate_to;
}
void Write(const CountTokensRequest& request, Json& json) {
  json["type"] = "count_tokens";
  json["text"] = request.text;
}

}  // namespace

ProcessHello ReadHello(const std::string& line) {
  const Json json = ParseLine(line);
  try {
    const JsonObject object(json, "hello", ErrorCode::kModel);
    if (object.String("type") != "hello") throw object.Wrong("type", "hello");
    if (object.Int("protocol") != kProtocolVersion) {
      throw object.Wrong("protocol", fmt::format("{}", kProtocolVersion));
    }
    ProcessHello hello;
    hello.name = object.String("name");
    hello.max_length = Count(object, "max_length");
    if (hello.max_length == 0) throw object.Wrong("max_length", "the tokens that it can read");
    hello.version = OptionalString(object, "version");
    hello.dtype = OptionalString(object, "dtype");
    hello.device = OptionalString(object, "device");
    hello.fingerprint = OptionalString(object, "fingerprint");
    hello.tokenizer_fingerprint = OptionalString(object, "tokenizer_fingerprint");
    hello.vocabulary = Count(object, "vocabulary");
    hello.parameters = Count(object, "parameters");
    hello.in_flight = Count(object, "in_flight");
    for (const std::string& name : object.Strings("capabilities")) {
      if (name == "loglikelihood") hello.loglikelihood = true;
      if (name == "rolling") hello.rolling = true;
      if (name == "generate") hello.generate = true;
      if (name == "count_tokens") hello.count_tokens = true;
    }
    return hello;
  } catch (const Error& error) {
    throw ProtocolError(error.what());
  }
}

std::string WriteRequest(int64_t id, const ProcessRequest& request) {
  Json json = Json::object();
  json["id"] = id;
  std::visit([&](const auto& one) { Write(one, json); }, request);
  return json.dump();
}

ProcessAnswer ReadAnswerId(const std::string& line) {
  const Json json = ParseLine(line);
  if (!json.contains("id") || !json["id"].is_number_integer()) {
    throw ProtocolError(
        fmt::format("it wrote \"{}\", expected an answer with an \"id\"", Shown(line)));
  }
  return {json["id"].get<int64_t>(), line};
}

void ReadResult(const ProcessAnswer& answer, LoglikelihoodResult& result) {
  ReadInto(answer, result, [](const JsonObject& object, LoglikelihoodResult& out) {
    ReadScored(object, out);
    out.is_greedy = object.Bool("is_greedy");
  });
}

void ReadResult(const ProcessAnswer& answer, RollingResult& result) {
  ReadInto(answer, result, [](const JsonObject& object, RollingResult& out) {
    ReadScored(object, out);
    out.scored_bytes = Count(object, "scored_bytes");
  });
}

void ReadResult(const ProcessAnswer& answer, GenerateResult& result) {
  ReadInto(answer, result, [](const JsonObject& object, GenerateResult& out) {
    out.text = object.String("text");
    out.finish = ReadFinish(object);
    if (!object.Has("ids")) return;
    const Json& list = object.At("ids");
    if (!list.is_array()) throw object.Wrong("ids", "a list of token ids");
    for (const Json& id : list) {
      const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
      if (number < 0 || number > INT32_MAX) throw object.Wrong("ids", "a list of token ids");
      out.ids.push_back(static_cast<TokenId>(number));
    }
    if (out.output_tokens == 0) out.output_tokens = core::Size(out.ids);
  });
}

int64_t ReadTokenCount(const ProcessAnswer& answer) {
  const Json json = ParseLine(answer.line);
  const JsonObject object(json, fmt::format("answer {}", answer.id), ErrorCode::kModel);
  if (object.Has("error")) throw ModelError("{}", object.String("error"));
  if (!object.Has("tokens")) throw ModelError("answer {}: has no \"tokens\"", answer.id);
  return Count(object, "tokens");
}

}  // namespace natsl::model_adapters
