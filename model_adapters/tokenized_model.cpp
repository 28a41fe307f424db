// TokenModel + Tokenizer + policies = LanguageModel.
#include "model_adapters/tokenized_model.h"

#include <algorithm>
#include <future>
#include <numeric>

#include "core/cast.h"
#include "core/check.h"
#include "core/threads.h"
#include "model_adapters/request_error.h"

namespace natsl::model_adapters {
namespace {

/// Token requests made of text requests [base, base + first.size() - 1): which text request each
/// belongs to. Text requests without token requests (failed, skipped, empty) are answered at once.
struct Ownership {
  size_t base = 0;
  std::vector<size_t> owner;  ///< [token requests]
  std::vector<size_t> first;  ///< [text requests + 1] into the token requests
};

/// Of several sequences together; not told where one's aren't.
SoftmaxCounts Sum(std::span<const TokenScore> scores) {
  SoftmaxCounts sum;
  for (const TokenScore& score : scores) {
    const SoftmaxCounts& one = score.softmax;
    if (one.by_head.empty()) return {};
    sum.chunks += one.chunks;
    sum.by_head.resize(one.by_head.size());
    for (size_t head = 0; head < one.by_head.size(); ++head) sum.by_head[head] += one.by_head[head];
  }
  return sum;
}

/// Passes a token model's batches on as batches of text requests. `finish(i)` turns the token
/// results of text request i into its result, once all are there.
class OwnerListener final : public BatchListener {
 public:
  OwnerListener(const Ownership& ownership, BatchListener& outer,
                std::function<void(size_t)> finish)
      : ownership_(ownership), outer_(outer), finish_(std::move(finish)) {
    for (size_t i = 0; i + 1 < ownership.first.size(); ++i) {
      open_.push_back(ownership.first[i + 1] - ownership.first[i]);
    }
  }

  bool Wanted(size_t index) override { return outer_.Wanted(ownership_.owner[index]); }

  void OnBatch(std::span<const size_t> finished, int64_t tokens) override {
    std::vector<size_t> texts;
    for (const size_t index : finished) {
      const size_t text = ownership_.owner[index];
      size_t& open = open_[text - ownership_.base];
      NATSL_CHECK(open > 0);
      if (--open > 0) continue;
      finish_(text);
      texts.push_back(text);
    }
    outer_.OnBatch(texts, tokens);
  }

  bool StopRequested() override { return outer_.StopRequested(); }

 private:
  const Ownership& ownership_;
  BatchListener& outer_;
  std::function<void(size_t)> finish_;
  std::vector<size_t> open_;
};

class TokenizedModel final : public LanguageModel {
 public:
  TokenizedModel(std::unique_ptr<TokenModel> model, std::shared_ptr<const Tokenizer> tokenizer,
                 const TextOptions& options)
      : model_(std::move(model)), tokenizer_(std::move(tokenizer)), options_(options) {
    info_ = model_->Info();
    if (info_.max_length == 0) info_.max_length = tokenizer_->model_max_length().value_or(2048);
    info_.tokenizer_fingerprint = tokenizer_->fingerprint();
    const char* bos = options.bos == BosPolicy::kAuto     ? "auto"
                      : options.bos == BosPolicy::kAlways ? "always"
                                                          : "never";
    const char* truncation = options.truncation == TruncationPolicy::kLeft    ? "left"
                             : options.truncation == TruncationPolicy::kError ? "error"
                                                                              : "skip";
    text_settings_ = {{"bos", bos},
                      {"truncation", truncation},
                      {"max_length", fmt::format("{}", info_.max_length)}};
    const SpecialTokens& special = tokenizer_->special_tokens();
    if (special.eos) eos_text_ = tokenizer_->Decode(std::span(&*special.eos, 1), false);
  }

  const ModelInfo& Info() const override {
    // The model's own settings may have grown since it was opened (passes halved for memory).
    info_.settings = model_->Info().settings;
    info_.settings.insert(info_.settings.end(), text_settings_.begin(), text_settings_.end());
    return info_;
  }

  std::vector<std::string> Notes() const override { return model_->Notes(); }

  std::optional<int64_t> CountTokens(const std::string& text) const override {
    return core::Size(tokenizer_->Encode(text, /*add_special_tokens=*/false));
  }

  void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                     std::span<LoglikelihoodResult> results, BatchListener& listener) override {
    const auto encode = [&](size_t i) {
      std::vector<TokenScoreRequest> parts;
      Guarded(i, results[i], [&] {
        const EncodedPair pair =
            EncodePair(*tokenizer_, requests[i].context, requests[i].continuation, options_.bos,
                       info_.max_length);
        if (!Admit(results[i], pair.dropped)) return;
        TokenScoreRequest request;
        request.ids = pair.context;
        request.ids.insert(request.ids.end(), pair.continuation.begin(), pair.continuation.end());
        request.scored_from = core::Size(pair.context);
        results[i].context_tokens = request.scored_from;
        results[i].output_tokens = core::Size(pair.continuation);
        parts.push_back(std::move(request));
      });
      return parts;
    };
    ScoreAll(results, listener, encode, [&](size_t i, std::span<const TokenScore> scores) {
      results[i].is_greedy = scores.front().is_greedy;
    });
  }

  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    const auto encode = [&](size_t i) {
      EncodedRolling encoded;
      Guarded(i, results[i], [&] {
        encoded = EncodeRolling(*tokenizer_, requests[i], options_.bos, info_.max_length);
        results[i].context_tokens = 1;
        results[i].output_tokens = encoded.output_tokens;
        results[i].scored_bytes = encoded.scored_bytes;
        results[i].skipped = encoded.missing > 0;
      });
      return std::move(encoded.windows);
    };
    ScoreAll(results, listener, encode, [](size_t, std::span<const TokenScore>) {});
  }

  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    std::vector<std::vector<std::string>> stops(requests.size());
    const auto encode = [&](size_t i) {
      std::vector<TokenGenerateRequest> parts;
      Guarded(i, results[i], [&] {
        const GenerateRequest& request = requests[i];
        EncodedPrompt prompt =
            EncodePrompt(*tokenizer_, request.prompt, options_.bos, info_.max_length,
                         request.max_new_tokens, request.middle_truncate_to);
        if (!Admit(results[i], prompt.dropped)) return;
        results[i].context_tokens = core::Size(prompt.ids);
        parts.push_back(ToTokens(request, std::move(prompt.ids), stops[i]));
      });
      return parts;
    };
    const auto compute = [&](const Ownership& ownership,
                             std::span<const TokenGenerateRequest> token_requests) {
      std::vector<TokenGeneration> generations(token_requests.size());
      OwnerListener owners(ownership, listener, [&](size_t i) {
        TokenGeneration& generation = generations[ownership.first[i - ownership.base]];
        GenerateResult& result = results[i];
        if (generation.error) {
          result.error = std::move(generation.error);
          return;
        }
        result.text = generation.text
                          ? std::move(*generation.text)
                          : tokenizer_->Decode(generation.ids, /*skip_special_tokens=*/true);
        result.finish = generation.finish;
        result.softmax = std::move(generation.softmax);
        if (CutAtStops(result.text, stops[i])) result.finish = FinishReason::kStop;
        result.output_tokens = std::max(generation.tokens, core::Size(generation.ids));
        result.ids = std::move(generation.ids);
      });
      model_->Generate(token_requests, generations, owners);
    };
    EncodeAndCompute<TokenGenerateRequest>(requests.size(), listener, encode, compute);
  }

 private:
  /// Calls compute(ownership, token requests) for some requests at a time; meanwhile the next are
  /// encoded: encode(i) → token requests of text request i, on all threads.
  template <typename TokenRequest, typename Encode, typename Compute>
  void EncodeAndCompute(size_t count, BatchListener& listener, const Encode& encode,
                        const Compute& compute) const {
    using Parts = std::vector<std::vector<TokenRequest>>;
    const auto encode_from = [&](size_t begin) {
      Parts parts(std::min(kRequestsAtOnce, count - begin));
      core::ParallelFor(core::Size(parts), options_.threads, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; ++i) {
          parts[static_cast<size_t>(i)] = encode(begin + static_cast<size_t>(i));
        }
      });
      return parts;
    };
    std::future<Parts> next;
    for (size_t begin = 0; begin < count; begin += kRequestsAtOnce) {
      if (begin > 0 && listener.StopRequested()) return;
      Parts parts = next.valid() ? next.get() : encode_from(begin);
      if (const size_t after = begin + kRequestsAtOnce; after < count) {
        // Deferred where the system grants no thread more.
        next = std::async(std::launch::async | std::launch::deferred, encode_from, after);
      }
      Ownership ownership;
      ownership.base = begin;
      std::vector<TokenRequest> token_requests;
      for (size_t i = 0; i < parts.size(); ++i) {
        ownership.first.push_back(token_requests.size());
        for (TokenRequest& part : parts[i]) {
          ownership.owner.push_back(begin + i);
          token_requests.push_back(std::move(part));
        }
      }
      ownership.first.push_back(token_requests.size());
      AnswerAtOnce(ownership, listener);
      compute(ownership, std::span<const TokenRequest>(token_requests));
    }
  }

  TokenGenerateRequest ToTokens(const GenerateRequest& request, std::vector<TokenId> prompt,
                                std::vector<std::string>& stops) const {
    TokenGenerateRequest tokens;
    tokens.prompt = std::move(prompt);
    tokens.max_new_tokens = request.max_new_tokens;
    tokens.sampling = request.sampling;
    stops = request.stop;
    const SpecialTokens& special = tokenizer_->special_tokens();
    if (special.eos) {
      tokens.eos = {*special.eos};
      // sentencepiece decodes its control pieces to nothing, which would stop every text at once.
      if (!eos_text_.empty() && std::find(stops.begin(), stops.end(), eos_text_) == stops.end()) {
        stops.push_back(eos_text_);
      }
    }
    tokens.stop = [this, &stops](std::span<const TokenId> ids) {
      return MeetsStop(*tokenizer_, ids, stops);
    };
    tokens.stop_strings = request.stop;
    return tokens;
  }

  /// A data error of one request is that request's; with --truncation error it ends the run.
  void Guarded(size_t index, ResultBase& result, const std::function<void()>& body) const {
    try {
      body();
    } catch (const ContinuationTooLong& error) {
      if (options_.truncation == TruncationPolicy::kError) throw RequestError(error, index);
      result.skipped = options_.truncation == TruncationPolicy::kSkip;
      result.truncated_tokens = result.skipped ? error.excess() : 0;
      if (!result.skipped) result.error = error.what();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      if (options_.truncation == TruncationPolicy::kError) throw RequestError(error, index);
      result.error = error.what();
    }
  }

  /// Applies the truncation policy to a request of which `dropped` ids were cut.
  bool Admit(ResultBase& result, int64_t dropped) const {
    result.truncated_tokens = dropped;
    if (dropped == 0 || options_.truncation == TruncationPolicy::kLeft) return true;
    if (options_.truncation == TruncationPolicy::kError) {
      throw DataError(
          "it is {} tokens longer than the model's {}; use --truncation left or skip, or a larger "
          "--max-length",
          dropped, info_.max_length);
    }
    result.skipped = true;
    return false;
  }

  /// Text requests without token requests have their result already.
  static void AnswerAtOnce(const Ownership& ownership, BatchListener& listener) {
    std::vector<size_t> answered;
    for (size_t i = 0; i + 1 < ownership.first.size(); ++i) {
      const size_t text = ownership.base + i;
      if (ownership.first[i] == ownership.first[i + 1] && listener.Wanted(text)) {
        answered.push_back(text);
      }
    }
    if (!answered.empty()) listener.OnBatch(answered, 0);
  }

  template <typename Result, typename Encode, typename Complete>
  void ScoreAll(std::span<Result> results, BatchListener& listener, const Encode& encode,
                const Complete& complete) const {
    const auto compute = [&](const Ownership& ownership,
                             std::span<const TokenScoreRequest> token_requests) {
      std::vector<TokenScore> scores(token_requests.size());
      OwnerListener owners(ownership, listener, [&](size_t i) {
        const size_t first = ownership.first[i - ownership.base];
        const std::span<const TokenScore> mine(scores.data() + first,
                                               ownership.first[i - ownership.base + 1] - first);
        Result& result = results[i];
        result.log_prob = 0;
        for (const TokenScore& score : mine) {
          if (!score.error) continue;
          result.error = score.error;
          result.token_log_probs.clear();
          return;
        }
        for (const TokenScore& score : mine) {
          result.token_log_probs.insert(result.token_log_probs.end(), score.log_probs.begin(),
                                        score.log_probs.end());
          result.log_prob += std::accumulate(score.log_probs.begin(), score.log_probs.end(), 0.0);
        }
        result.softmax = Sum(mine);
        complete(i, mine);
      });
      model_->Score(token_requests, scores, owners);
    };
    EncodeAndCompute<TokenScoreRequest>(results.size(), listener, encode, compute);
  }

  std::unique_ptr<TokenModel> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  TextOptions options_;
  mutable ModelInfo info_;
  decltype(ModelInfo::settings) text_settings_;
  std::string eos_text_;
};

}  // namespace

std::unique_ptr<LanguageModel> MakeTokenizedModel(std::unique_ptr<TokenModel> model,
                                                  std::shared_ptr<const Tokenizer> tokenizer,
                                                  const TextOptions& options) {
  return std::make_unique<TokenizedModel>(std::move(model), std::move(tokenizer), options);
}

}  // namespace natsl::model_adapters
