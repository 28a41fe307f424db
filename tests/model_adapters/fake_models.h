// A tokenizer and a token model small enough to compute by hand.
#pragma once

#include <algorithm>
#include <string>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

/// One id a byte, "ab" merged to id 300; BOS 256 ("<s>"), EOS 257 ("</s>").
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(bool adds_bos) : adds_bos_(adds_bos) {
    special_.bos = 256;
    special_.eos = 257;
  }

  std::vector<TokenId> Encode(std::string_view text, bool add_special_tokens) const override {
    std::vector<TokenId> ids;
    if (add_special_tokens && adds_bos_) ids.push_back(256);
    while (!text.empty()) {
      const auto take = [&](std::string_view piece, TokenId id) {
        if (!text.starts_with(piece)) return false;
        ids.push_back(id);
        text.remove_prefix(piece.size());
        return true;
      };
      if (take("<s>", 256) || take("</s>", 257) || take("ab", 300)) continue;
      ids.push_back(static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    }
    return ids;
  }

  std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id == 300) {
        text += "ab";
      } else if (id < 256) {
        text += static_cast<char>(id);
      } else if (!skip_special_tokens) {
        text += id == 256 ? "<s>" : "</s>";
      }
    }
    return text;
  }

  const SpecialTokens& special_tokens() const override { return special_; }
  int64_t vocabulary_size() const override { return 301; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::optional<int64_t> model_max_length() const override { return std::nullopt; }

 private:
  bool adds_bos_;
  SpecialTokens special_;
  std::string fingerprint_ = "byte-tokenizer";
};

/// log p of an id is -(id + its position); greedy if every scored id is even. Generates the
/// prompt's ids over and over, EOS included. Answers in batches of two, last request first.
class EchoModel final : public TokenModel {
 public:
  explicit EchoModel(int64_t max_length) {
    info_.name = "echo";
    info_.max_length = max_length;
    info_.vocabulary = 301;
  }

  const ModelInfo& Info() const override { return info_; }

  void Score(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
             BatchListener& listener) override {
    InBatches(requests.size(), listener, [&](size_t i) {
      results[i] = {};
      results[i].is_greedy = true;
      for (int64_t t = requests[i].scored_from; t < core::Size(requests[i].ids); ++t) {
        const TokenId id = requests[i].ids[static_cast<size_t>(t)];
        results[i].log_probs.push_back(-static_cast<float>(id + t));
        results[i].is_greedy = results[i].is_greedy && id % 2 == 0;
      }
    });
  }

  void Generate(std::span<const TokenGenerateRequest> requests, std::span<TokenGeneration> results,
                BatchListener& listener) override {
    InBatches(requests.size(), listener, [&](size_t i) {
      const TokenGenerateRequest& request = requests[i];
      TokenGeneration& result = results[i];
      result = {};
      for (size_t step = 0; std::cmp_less(step, request.max_new_tokens); ++step) {
        const TokenId id = request.prompt[step % request.prompt.size()];
        if (std::find(request.eos.begin(), request.eos.end(), id) != request.eos.end()) {
          result.finish = FinishReason::kEos;
          return;
        }
        result.ids.push_back(id);
        if (request.stop && request.stop(result.ids)) {
          result.finish = FinishReason::kStop;
          return;
        }
      }
    });
  }

  std::unique_ptr<Session> NewSession(int64_t) override { throw InternalError("not in this test"); }
  Trace Forward(std::span<const TokenId>, bool, std::span<const int64_t>) override {
    throw InternalError("not in this test");
  }

 private:
  static void InBatches(size_t count, BatchListener& listener,
                        const std::function<void(size_t)>& answer) {
    for (size_t end = count; end > 0;) {
      std::vector<size_t> batch;
      while (end > 0 && batch.size() < 2) batch.push_back(--end);
      if (std::none_of(batch.begin(), batch.end(), [&](size_t i) { return listener.Wanted(i); })) {
        continue;
      }
      for (const size_t i : batch) answer(i);
      listener.OnBatch(batch, core::Size(batch));
    }
  }

  ModelInfo info_;
};

}  // namespace natsl::model_adapters
