// TokenModel + Tokenizer + policies = LanguageModel.
#include "model_adapters/tokenized_model.h"

#include <algorithm>
#include <numeric>

#include "core/cast.h"
#include "core/check.h"
#include "core/threads.h"

namespace natsl::model_adapters {
namespace {

/// Token requests made of text requests: which text request each belongs to. Text requests without
/// token requests (failed, skipped, empty) are answered at once.
struct Ownership {
  std::vector<size_t> owner;  ///< [token requests]
  std::vector<size_t> first;  ///< [text requests + 1] into the token requests
};

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
      NATSL_CHECK(open_[text] > 0);
      if (--open_[text] > 0) continue;
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
    std::vector<std::vector<TokenScoreRequest>> parts(requests.size());
    ForEach(requests.size(), [&](size_t i) {
      Guarded(results[i], [&] {
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
        parts[i].push_back(std::move(request));
      });
    });
    ScoreParts(parts, results, listener, [&](size_t i, std::span<const TokenScore> scores) {
      results[i].is_greedy = scores.front().is_greedy;
    });
  }

  void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                            std::span<RollingResult> results, BatchListener& listener) override {
    std::vector<std::vector<TokenScoreRequest>> parts(requests.size());
    const TokenId prefix = PrefixToken(*tokenizer_);
    ForEach(requests.size(), [&](size_t i) {
      Guarded(results[i], [&] {
        if (requests[i].whole_windows) {
          const int64_t length = requests[i].max_length.value_or(info_.max_length);
          WholeWindows whole = EncodeWholeWindows(*tokenizer_, requests[i], options_.bos, length);
          results[i].output_tokens = core::Size(whole.windows) * length;
          results[i].scored_bytes = whole.scored_bytes;
          results[i].skipped = whole.windows.empty();
          parts[i] = std::move(whole.windows);
          return;
        }
        const int64_t window =
            std::min(requests[i].max_length.value_or(info_.max_length), info_.max_length);
        const std::vector<TokenId> ids = EncodeText(*tokenizer_, requests[i].text, options_.bos);
        results[i].context_tokens = 1;
        results[i].output_tokens = core::Size(ids);
        parts[i] = RollingWindows(ids, prefix, window);
      });
    });
    ScoreParts(parts, results, listener, [](size_t, std::span<const TokenScore>) {});
  }

  void GenerateUntil(std::span<const GenerateRequest> requests, std::span<GenerateResult> results,
                     BatchListener& listener) override {
    std::vector<TokenGenerateRequest> all(requests.size());
    std::vector<std::vector<std::string>> stops(requests.size());
    std::vector<char> admitted(requests.size(), 0);
    ForEach(requests.size(), [&](size_t i) {
      Guarded(results[i], [&] {
        const GenerateRequest& request = requests[i];
        EncodedPrompt prompt =
            EncodePrompt(*tokenizer_, request.prompt, options_.bos, info_.max_length,
                         request.max_new_tokens, request.middle_truncate_to);
        if (!Admit(results[i], prompt.dropped)) return;
        results[i].context_tokens = core::Size(prompt.ids);
        stops[i] = request.stop;
        const SpecialTokens& special = tokenizer_->special_tokens();
        if (special.eos) {
          all[i].eos = {*special.eos};
          if (std::find(stops[i].begin(), stops[i].end(), eos_text_) == stops[i].end()) {
            stops[i].push_back(eos_text_);
          }
        }
        all[i].prompt = std::move(prompt.ids);
        all[i].max_new_tokens = request.max_new_tokens;
        all[i].sampling = request.sampling;
        all[i].stop = [this, &stop = stops[i]](std::span<const TokenId> ids) {
          return MeetsStop(ids, stop);
        };
        all[i].stop_strings = request.stop;
        admitted[i] = 1;
      });
    });
    Ownership ownership;
    std::vector<TokenGenerateRequest> token_requests;
    for (size_t i = 0; i < requests.size(); ++i) {
      ownership.first.push_back(token_requests.size());
      if (!admitted[i]) continue;
      ownership.owner.push_back(i);
      token_requests.push_back(std::move(all[i]));
    }
    ownership.first.push_back(token_requests.size());
    std::vector<TokenGeneration> generations(token_requests.size());
    OwnerListener owners(ownership, listener, [&](size_t i) {
      TokenGeneration& generation = generations[ownership.first[i]];
      GenerateResult& result = results[i];
      if (generation.error) {
        result.error = std::move(generation.error);
        return;
      }
      result.text = generation.text
                        ? std::move(*generation.text)
                        : tokenizer_->Decode(generation.ids, /*skip_special_tokens=*/true);
      result.finish = generation.finish;
      if (CutAtStops(result.text, stops[i])) result.finish = FinishReason::kStop;
      result.output_tokens = std::max(generation.tokens, core::Size(generation.ids));
      result.ids = std::move(generation.ids);
    });
    AnswerAtOnce(ownership, listener);
    model_->Generate(token_requests, generations, owners);
  }

 private:
  void ForEach(size_t count, const std::function<void(size_t)>& body) const {
    core::ParallelFor(static_cast<int64_t>(count), options_.threads, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) body(static_cast<size_t>(i));
    });
  }

  /// A data error of one request is that request's; with --truncation error it ends the run.
  void Guarded(ResultBase& result, const std::function<void()>& body) const {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData || options_.truncation == TruncationPolicy::kError)
        throw;
      result.error = error.what();
    }
  }

  /// Applies the truncation policy to a request of which `dropped` ids were cut.
  bool Admit(ResultBase& result, int64_t dropped) const {
    result.truncated_tokens = dropped;
    if (dropped == 0 || options_.truncation == TruncationPolicy::kLeft) return true;
    if (options_.truncation == TruncationPolicy::kError) {
      throw DataError(
          "a request is {} tokens longer than the model's {}; use --truncation left or skip, or a "
          "larger --max-length",
          dropped, info_.max_length);
    }
    result.skipped = true;
    return false;
  }

  /// Text requests without token requests have their result already.
  static void AnswerAtOnce(const Ownership& ownership, BatchListener& listener) {
    std::vector<size_t> answered;
    for (size_t i = 0; i + 1 < ownership.first.size(); ++i) {
      if (ownership.first[i] == ownership.first[i + 1] && listener.Wanted(i)) answered.push_back(i);
    }
    if (!answered.empty()) listener.OnBatch(answered, 0);
  }

  template <typename Result>
  void ScoreParts(std::vector<std::vector<TokenScoreRequest>>& parts, std::span<Result> results,
                  BatchListener& listener,
                  const std::function<void(size_t, std::span<const TokenScore>)>& complete) {
    Ownership ownership;
    std::vector<TokenScoreRequest> token_requests;
    for (size_t i = 0; i < parts.size(); ++i) {
      ownership.first.push_back(token_requests.size());
      for (TokenScoreRequest& part : parts[i]) {
        ownership.owner.push_back(i);
        token_requests.push_back(std::move(part));
      }
    }
    ownership.first.push_back(token_requests.size());
    std::vector<TokenScore> scores(token_requests.size());
    OwnerListener owners(ownership, listener, [&](size_t i) {
      const std::span<const TokenScore> mine(scores.data() + ownership.first[i],
                                             ownership.first[i + 1] - ownership.first[i]);
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
      complete(i, mine);
    });
    AnswerAtOnce(ownership, listener);
    model_->Score(token_requests, scores, owners);
  }

  /// Whether the text of all new ids holds a stop string. Only the last ids are decoded unless they
  /// hold one: a string of n bytes lies within the last n + a few ids.
  bool MeetsStop(std::span<const TokenId> ids, const std::vector<std::string>& stops) const {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      // Every text holds the empty string: the reference stops after one token, and cuts nothing.
      if (stop.empty()) return true;
      longest = std::max(longest, stop.size());
    }
    const size_t tail = std::min(ids.size(), longest + 8);
    std::string text = tokenizer_->Decode(ids.last(tail), true);
    if (!CutAtStops(text, stops)) return false;
    if (tail == ids.size()) return true;
    text = tokenizer_->Decode(ids, true);
    return CutAtStops(text, stops);
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
