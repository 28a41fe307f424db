// TokenModel + Tokenizer + BOS and truncation policies = LanguageModel. The string-to-ids protocol
// is lm-evaluation-harness 0.4.13's (specs/tasks.md, section 1).
#pragma once

#include <memory>
#include <optional>

#include "model_adapters/language_model.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

enum class BosPolicy { kAuto, kAlways, kNever };       ///< auto: the tokenizer's own rule
enum class TruncationPolicy { kLeft, kError, kSkip };  ///< what happens to what is too long

struct TextOptions {
  BosPolicy bos = BosPolicy::kAuto;
  TruncationPolicy truncation = TruncationPolicy::kLeft;
  int threads = 0;  ///< for tokenising; 0: all cores
};

/// Ids of one log-likelihood request after the protocol's steps.
struct EncodedPair {
  std::vector<TokenId> context;       ///< after truncation; never empty
  std::vector<TokenId> continuation;  ///< the scored ids; never empty
  int64_t dropped = 0;                ///< ids cut from the left
};

/// `max_length`: tokens the model may read. Throws Error (data) where nothing is left to score, or
/// where the request is too long under TruncationPolicy::kError.
EncodedPair EncodePair(const Tokenizer& tokenizer, const std::string& context,
                       const std::string& continuation, BosPolicy bos, int64_t max_length);

std::unique_ptr<LanguageModel> MakeTokenizedModel(std::unique_ptr<TokenModel> model,
                                                  std::shared_ptr<const Tokenizer> tokenizer,
                                                  const TextOptions& options);

}  // namespace natsl::model_adapters
