// A served model of which only text is known: no local tokenizer, or chat.
#include <algorithm>
#include <numeric>

#include "core/cast.h"
#include "core/error.h"
#include "core/utf8.h"
#include "model_adapters/remote/generation.h"
#include "model_adapters/remote/openai_model.h"
#include "model_adapters/remote/scoring.h"
#include "model_adapters/request_encoding.h"

namespace natsl::model_adapters {
namespace {

class ServedTextModel final : public LanguageModel {
 public:
  ServedTextModel(std::shared_ptr<OpenAiServer> server, std::shared_ptr<const Tokenizer> tokenizer,
                  const ModelInfo& info, const TextOptions& options)
      : server_(std::move(server)),
        tokenizer_(std::move(tokenizer)),
        info_(info),
        options_(options) {}

  const ModelInfo& Info() const override { return info_; }
  std::vector<std::string> Notes() const override { return server_->Notes(); }

  std::optional<int64_t> CountTokens(const std::string& text) const override {
    if (tokenizer_ == nullptr) return std::nullopt;
    return core::Size(tokenizer_->Encode(text, /*add_special_tokens=*/false));
  }

  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override {
    const auto query = [&](size_t i) {
      // White space at the boundary belongs to the continuation, as in request_encoding.cpp.
      const std::string_view context = core::PythonRstrip(requests[i].context);
      ScoreQuery out;
      out.text = requests[i].context + requests[i].continuation;
      out.boundary = context.size();
      out.send_text = true;
      if (requests[i].continuation.empty()) {
        throw DataError("the continuation is empty: there is nothing to score");
      }
      return out;
    };
    Score(requests.size(), results, listener, query,
          [&](size_t i, const TokenScore& score) { results[i].is_greedy = score.is_greedy; });
  }

  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    const auto query = [&](size_t i) {
      if (requests[i].max_length || requests[i].whole_windows) {
        throw UsageError(
            "windows of a number of tokens need a local tokenizer; add "
            "tokenizer=FOLDER to --model");
      }
      ScoreQuery out;
      out.text = requests[i].text;
      out.send_text = true;
      return out;
    };
    Score(requests.size(), results, listener, query, [](size_t, const TokenScore&) {});
  }

  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    const ServerFacts& facts = server_->facts();
    server_->Run(
        requests.size(), listener,
        {.make =
             [&](size_t i) {
               return MakeGenerateRequest(facts, Query(requests[i], results[i].truncated_tokens));
             },
         .read =
             [&](size_t i, const std::string& body) {
               int64_t dropped = 0;
               ServedGeneration served = ReadGeneration(facts, Query(requests[i], dropped), body);
               GenerateResult& result = results[i];
               result.text = served.generation.text.value_or("");
               result.finish = served.generation.finish;
               if (CutAtStops(result.text, requests[i].stop)) result.finish = FinishReason::kStop;
               result.context_tokens = served.prompt_tokens.value_or(0);
               result.output_tokens = served.generation.tokens;
               return result.context_tokens + result.output_tokens;
             },
         .fail = [&](size_t i, const std::string& why) { results[i].error = why; }});
  }

 private:
  template <typename Result, typename Query, typename Complete>
  void Score(size_t count, std::span<Result> results, BatchListener& listener, const Query& query,
             const Complete& complete) {
    const ServerFacts& facts = server_->facts();
    if (facts.chat) {
      throw UsageError(
          "{}: chat gives no log-probabilities of a given text, which this task needs; "
          "leave out api=chat",
          info_.name);
    }
    if (facts.logprobs == LogprobForm::kNone) {
      std::string tried;
      for (const std::string& line : facts.refused) tried += "\n  " + line;
      throw ModelError(
          "{}: the server gives no log-probabilities of a given text; with a local tokenizer "
          "(tokenizer=FOLDER) more ways are tried. Tried:{}",
          info_.name, tried.empty() ? " nothing (logprobs=none)" : tried);
    }
    server_->Run(count, listener,
                 {.make = [&](size_t i) { return MakeScoreRequest(facts, query(i)); },
                  .read =
                      [&](size_t i, const std::string& body) {
                        TokenScore score = ReadScore(facts, query(i), body);
                        Result& result = results[i];
                        result.log_prob =
                            std::accumulate(score.log_probs.begin(), score.log_probs.end(), 0.0);
                        result.output_tokens = core::Size(score.log_probs);
                        complete(i, score);
                        result.token_log_probs = std::move(score.log_probs);
                        return result.output_tokens;
                      },
                  .fail = [&](size_t i, const std::string& why) { results[i].error = why; }});
  }

  /// The prompt as text. What a tokenizer shows to be too long is cut; else the server refuses it.
  GenerateQuery Query(const GenerateRequest& request, int64_t& dropped) const {
    GenerateQuery query;
    query.send_text = true;
    query.text = request.prompt;
    query.stop = request.stop;
    query.max_new_tokens = request.max_new_tokens;
    query.sampling = request.sampling;
    if (tokenizer_ == nullptr) {
      if (request.middle_truncate_to) {
        throw UsageError(
            "cutting out the middle of a prompt needs a local tokenizer; add "
            "tokenizer=FOLDER to --model");
      }
      return query;
    }
    const EncodedPrompt prompt =
        EncodePrompt(*tokenizer_, request.prompt, BosPolicy::kNever, info_.max_length,
                     request.max_new_tokens, request.middle_truncate_to);
    dropped = prompt.dropped;
    if (dropped == 0) return query;
    if (options_.truncation != TruncationPolicy::kLeft && !request.middle_truncate_to) {
      throw DataError("the prompt is {} tokens longer than the model's {}", dropped,
                      info_.max_length);
    }
    query.text = tokenizer_->Decode(prompt.ids, /*skip_special_tokens=*/true);
    return query;
  }

  std::shared_ptr<OpenAiServer> server_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ModelInfo info_;
  TextOptions options_;
};

}  // namespace

std::unique_ptr<LanguageModel> MakeServedTextModel(std::shared_ptr<OpenAiServer> server,
                                                   std::shared_ptr<const Tokenizer> tokenizer,
                                                   const ModelInfo& info,
                                                   const TextOptions& options) {
  return std::make_unique<ServedTextModel>(std::move(server), std::move(tokenizer), info, options);
}

}  // namespace natsl::model_adapters
