// Opening a served model: connection, probing, tokenizer, what is told of it.
#include <random>

#include "core/error.h"
#include "core/hash.h"
#include "model_adapters/remote/openai_model.h"
#include "model_adapters/remote/openai_probe.h"
#include "model_adapters/remote/transport.h"

namespace natsl::model_adapters {
namespace {

constexpr int64_t kAssumedLength = 2048;

ModelInfo MakeInfo(const std::string& name, const OpenAiServer& server, const Tokenizer* tokenizer,
                   std::optional<int64_t> asked_length) {
  const ServerFacts& facts = server.facts();
  ModelInfo info;
  info.name = name;
  info.family = "openai";
  info.dtype = "the server's";
  info.device = "the server's";
  info.vocabulary = facts.vocabulary;
  info.parameters = facts.parameters;
  // Nobody can see the weights: what the server calls them stands for them.
  info.weights_fingerprint = "served:" + core::Sha256Hex(facts.url + "\n" + facts.model);
  if (tokenizer != nullptr) {
    info.tokenizer_fingerprint = tokenizer->fingerprint();
    if (info.vocabulary == 0) info.vocabulary = tokenizer->vocabulary_size();
  }
  std::string source = "the server";
  int64_t context = facts.context;
  if (context == 0 && tokenizer != nullptr && tokenizer->model_max_length()) {
    context = *tokenizer->model_max_length();
    source = "the local tokenizer";
  }
  if (context == 0 && !asked_length) source = "assumed: the server doesn't tell";
  const int64_t spare = facts.chat ? 0 : SpareIds(facts.logprobs);
  if (context > 0 && context <= spare) {
    throw ModelError("{}: holds {} tokens, too few to score one", facts.url, context);
  }
  const int64_t most = (context == 0 ? kAssumedLength : context) - spare;
  info.max_length = most;
  if (asked_length) {
    if (facts.context > 0 && *asked_length > most) {
      throw UsageError(
          "--max-length {}: the server holds {} tokens, of which it needs {} beside those read; "
          "expected at most {}",
          *asked_length, facts.context, spare, most);
    }
    info.max_length = *asked_length;
    source = "asked for";
  }
  info.settings = {
      {"server", facts.version.empty() ? facts.kind : facts.kind + " " + facts.version},
      {"served_model", facts.model},
      {"api", facts.chat ? "chat" : "completions"},
      {"logprobs", Name(facts.logprobs)},
      {"prompts", facts.takes_ids ? "ids" : "text"},
      {"server_context", std::to_string(facts.context)},
      {"max_length_from", source}};
  return info;
}

}  // namespace

std::unique_ptr<LanguageModel> MakeServedModel(const std::string& name,
                                               std::unique_ptr<OpenAiServer> server,
                                               std::shared_ptr<const Tokenizer> tokenizer,
                                               const OpenServedOptions& options) {
  Probe(*server, tokenizer.get());
  const ServedOptions& served = server->options();
  const ModelInfo info = MakeInfo(name, *server, tokenizer.get(),
                                  served.max_length ? served.max_length : options.max_length);
  std::shared_ptr<OpenAiServer> shared = std::move(server);
  if (tokenizer == nullptr || served.chat) {
    return MakeServedTextModel(shared, tokenizer, info, options.text);
  }
  return MakeTokenizedModel(MakeServedTokenModel(shared, tokenizer, info), tokenizer, options.text);
}

std::unique_ptr<LanguageModel> OpenServedModel(const std::string& model,
                                               const OpenServedOptions& options) {
  const ServedOptions served = ParseServed(model);
  TransportOptions transport;
  transport.key = ReadKey(served);
  transport.ca_file = served.ca_file;
  transport.in_flight = served.in_flight;
  transport.timeout_ms = served.retry.timeout_ms;
  const std::string& folder = served.tokenizer.empty() ? options.tokenizer : served.tokenizer;
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!folder.empty()) tokenizer = OpenTokenizer(folder);
  static const core::SteadyClock clock;
  auto server = std::make_unique<OpenAiServer>(served, MakeCurlTransport(transport), clock,
                                               std::random_device()());
  return MakeServedModel(model, std::move(server), std::move(tokenizer), options);
}

}  // namespace natsl::model_adapters
