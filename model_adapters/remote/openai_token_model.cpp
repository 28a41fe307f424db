// A served model as a model of token ids.
#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/remote/generation.h"
#include "model_adapters/remote/openai_model.h"
#include "model_adapters/remote/scoring.h"

namespace natsl::model_adapters {
namespace {

/// kForced: units are single ids, requests are done when all theirs are.
class UnitListener final : public BatchListener {
 public:
  UnitListener(const std::vector<std::pair<size_t, int64_t>>& units, std::vector<int64_t> open,
               BatchListener& outer)
      : units_(units), open_(std::move(open)), outer_(outer) {}

  bool Wanted(size_t unit) override { return outer_.Wanted(units_[unit].first); }
  void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
    std::vector<size_t> requests;
    for (const size_t unit : finished) {
      if (--open_[units_[unit].first] == 0) requests.push_back(units_[unit].first);
    }
    outer_.OnBatch(requests, tokens);
  }
  bool StopRequested() override { return outer_.StopRequested(); }

 private:
  const std::vector<std::pair<size_t, int64_t>>& units_;
  std::vector<int64_t> open_;
  BatchListener& outer_;
};

class ServedTokenModel final : public TokenModel {
 public:
  ServedTokenModel(std::shared_ptr<OpenAiServer> server, std::shared_ptr<const Tokenizer> tokenizer,
                   const ModelInfo& info)
      : server_(std::move(server)), tokenizer_(std::move(tokenizer)), info_(info) {
    if (const auto eos = tokenizer_->special_tokens().eos) {
      end_text_ = tokenizer_->Decode(std::span(&*eos, 1), false);
    }
  }

  const ModelInfo& Info() const override { return info_; }
  std::vector<std::string> Notes() const override { return server_->Notes(); }

  void Score(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
             BatchListener& listener) override {
    const ServerFacts& facts = server_->facts();
    if (facts.logprobs == LogprobForm::kNone) throw NoLogprobs();
    if (facts.logprobs == LogprobForm::kForced) return ScoreForced(requests, results, listener);
    server_->Run(requests.size(), listener,
                 {.make = [&](size_t i) { return MakeScoreRequest(facts, Query(requests[i])); },
                  .read =
                      [&](size_t i, const std::string& body) {
                        results[i] = ReadScore(facts, Query(requests[i]), body);
                        return core::Size(requests[i].ids);
                      },
                  .fail = [&](size_t i, const std::string& why) { results[i].error = why; }});
  }

  void Generate(std::span<const TokenGenerateRequest> requests, std::span<TokenGeneration> results,
                BatchListener& listener) override {
    const ServerFacts& facts = server_->facts();
    server_->Run(requests.size(), listener,
                 {.make = [&](size_t i) { return MakeGenerateRequest(facts, Query(requests[i])); },
                  .read =
                      [&](size_t i, const std::string& body) {
                        results[i] = ReadGeneration(facts, Query(requests[i]), body).generation;
                        return core::Size(requests[i].prompt) + results[i].tokens;
                      },
                  .fail = [&](size_t i, const std::string& why) { results[i].error = why; }});
  }

  std::unique_ptr<Session> NewSession(int64_t) override { throw NotHere("a session"); }
  Trace Forward(std::span<const TokenId>, bool, std::span<const int64_t>) override {
    throw NotHere("a trace");
  }

 private:
  Error NotHere(const char* what) const {
    return UsageError("{}: a served model gives no {}; this needs a checkpoint folder", info_.name,
                      what);
  }

  Error NoLogprobs() const {
    std::string tried;
    for (const std::string& line : server_->facts().refused) tried += "\n  " + line;
    return ModelError("{}: the server gives no log-probabilities of a given text. Tried:{}",
                      info_.name, tried.empty() ? " nothing (logprobs=none)" : tried);
  }

  /// Text that the server's tokenizer must read as these ids; a start token is its own to add.
  void AsText(const std::vector<TokenId>& ids, std::string& text, bool& starts_with_bos) const {
    starts_with_bos = !ids.empty() && ids.front() == tokenizer_->special_tokens().bos;
    text = tokenizer_->Decode(std::span(ids).subspan(starts_with_bos ? 1 : 0), false);
    std::vector<TokenId> again = tokenizer_->Encode(text, false);
    if (starts_with_bos) again.insert(again.begin(), ids.front());
    if (again == ids) return;
    throw ModelError(
        "the server takes only text, and no text gives these ids (a cut, or a boundary inside of a "
        "token)");
  }

  ScoreQuery Query(const TokenScoreRequest& request) const {
    ScoreQuery query;
    query.ids = request.ids;
    query.scored_from = request.scored_from;
    query.send_text = !server_->facts().takes_ids;
    if (query.send_text) AsText(query.ids, query.text, query.starts_with_bos);
    return query;
  }

  GenerateQuery Query(const TokenGenerateRequest& request) const {
    GenerateQuery query;
    query.ids = request.prompt;
    for (const std::string& stop : request.stop_strings) {
      // Its end token's text is among them; the server ends there by itself.
      if (stop.empty() || stop != end_text_) query.stop.push_back(stop);
    }
    query.max_new_tokens = request.max_new_tokens;
    query.sampling = request.sampling;
    query.eos = request.eos;
    query.send_text = !server_->facts().takes_ids;
    bool starts_with_bos = false;
    if (query.send_text) AsText(query.ids, query.text, starts_with_bos);
    return query;
  }

  void ScoreForced(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
                   BatchListener& listener) {
    const ServerFacts& facts = server_->facts();
    std::vector<std::pair<size_t, int64_t>> units;  // request, position
    std::vector<int64_t> open;
    for (size_t i = 0; i < requests.size(); ++i) {
      const int64_t size = core::Size(requests[i].ids);
      for (int64_t at = requests[i].scored_from; at < size; ++at) units.emplace_back(i, at);
      open.push_back(size - requests[i].scored_from);
      if (!listener.Wanted(i)) continue;
      results[i].log_probs.assign(static_cast<size_t>(open.back()), 0.0F);
      results[i].is_greedy = true;
    }
    UnitListener unit_listener(units, open, listener);
    server_->Run(units.size(), unit_listener,
                 {.make =
                      [&](size_t unit) {
                        const auto [i, at] = units[unit];
                        return MakeForcedRequest(facts, requests[i].ids, at);
                      },
                  .read =
                      [&](size_t unit, const std::string& body) {
                        const auto [i, at] = units[unit];
                        const ForcedScore score = ReadForced(requests[i].ids, at, body);
                        results[i].log_probs[static_cast<size_t>(at - requests[i].scored_from)] =
                            score.log_prob;
                        results[i].is_greedy &= score.is_greedy;
                        return int64_t{1};
                      },
                  .fail = [&](size_t unit,
                              const std::string& why) { results[units[unit].first].error = why; }});
  }

  std::shared_ptr<OpenAiServer> server_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ModelInfo info_;
  std::string end_text_;
};

}  // namespace

std::unique_ptr<TokenModel> MakeServedTokenModel(std::shared_ptr<OpenAiServer> server,
                                                 std::shared_ptr<const Tokenizer> tokenizer,
                                                 const ModelInfo& info) {
  return std::make_unique<ServedTokenModel>(std::move(server), std::move(tokenizer), info);
}

}  // namespace natsl::model_adapters
