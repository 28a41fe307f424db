// TokenModel + Tokenizer + BOS and truncation policies = LanguageModel. The string-to-ids protocol
// is in request_encoding.h.
#pragma once

#include <memory>

#include "model_adapters/language_model.h"
#include "model_adapters/request_encoding.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

/// What happens to a request that is longer than the model: cut from the left (counted), an error
/// that ends the run, or the request is skipped (counted).
enum class TruncationPolicy { kLeft, kError, kSkip };

struct TextOptions {
  BosPolicy bos = BosPolicy::kAuto;
  TruncationPolicy truncation = TruncationPolicy::kLeft;
  int threads = 0;  ///< for tokenising; 0: all cores
};

/// Requests of one call are encoded and computed by so many at a time: while the model computes
/// some, the next are encoded. Each is planned by itself.
constexpr size_t kRequestsAtOnce = 16384;

/// The maximum length is the token model's; where it has none, the tokenizer's, else 2048.
std::unique_ptr<LanguageModel> MakeTokenizedModel(std::unique_ptr<TokenModel> model,
                                                  std::shared_ptr<const Tokenizer> tokenizer,
                                                  const TextOptions& options);

}  // namespace natsl::model_adapters
