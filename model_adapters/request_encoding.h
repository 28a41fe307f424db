// Strings to token ids: what lm-evaluation-harness 0.4.13 feeds a causal model for each request
// kind (BOS rules, the split between context and continuation, truncation, rolling windows).
//
// Where the harness stops with an assertion we do the evident thing and say so here:
// - a context that is empty after its trailing white space moved, without a BOS: the prefix token;
// - a continuation that vanishes because a merge crosses the boundary: both sides are cut from the
//   joint encoding, after the ids that it shares with the context's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "model_adapters/token_model.h"
#include "model_adapters/tokenizer.h"

namespace natsl::model_adapters {

/// Whether ids of a text start with BOS. auto: the tokenizer's own rule.
enum class BosPolicy { kAuto, kAlways, kNever };

/// The token that stands before an empty context: BOS, else EOS. Error (model) without either.
TokenId PrefixToken(const Tokenizer& tokenizer);

/// Ids of a text under a BOS policy. A text that starts with the prefix token's own text gets no
/// further special tokens.
std::vector<TokenId> EncodeText(const Tokenizer& tokenizer, const std::string& text, BosPolicy bos);

/// A continuation that the model can't read whole, let alone its context.
class ContinuationTooLong : public Error {
 public:
  ContinuationTooLong(int64_t tokens, int64_t max_length);
  int64_t excess() const { return excess_; }  ///< ids more than the model reads

 private:
  int64_t excess_;
};

/// Ids of one log-likelihood request. The model reads context + continuation less its last id.
struct EncodedPair {
  std::vector<TokenId> context;       ///< never empty
  std::vector<TokenId> continuation;  ///< the scored ids
  int64_t dropped = 0;                ///< ids cut from the left
};

/// Encodes and cuts from the left to `max_length` + 1 ids in all. Throws Error (data) for an empty
/// continuation, ContinuationTooLong for one of more than `max_length` ids.
EncodedPair EncodePair(const Tokenizer& tokenizer, const std::string& context,
                       const std::string& continuation, BosPolicy bos, int64_t max_length);

/// Windows of at most `max_length` scored ids with one id of context each, more in the last one,
/// which is filled from the left. Every id of the text is scored once. No ids: no windows.
std::vector<TokenScoreRequest> RollingWindows(const std::vector<TokenId>& ids, TokenId prefix,
                                              int64_t max_length);

/// Windows by LX-1 (RollingRequest::whole_windows), and the bytes of the text they score. Empty
/// where the text is too short for one.
struct WholeWindows {
  std::vector<TokenScoreRequest> windows;
  int64_t scored_bytes = 0;
  int64_t text_tokens = 0;  ///< ids of the whole text
};
WholeWindows EncodeWholeWindows(const Tokenizer& tokenizer, const RollingRequest& request,
                                BosPolicy bos, int64_t max_length);

/// What a model computes for one rolling request, of either kind, and what is known of the result
/// before it does.
struct EncodedRolling {
  std::vector<TokenScoreRequest> windows;
  int64_t output_tokens = 0;  ///< scored ids
  int64_t scored_bytes = 0;   ///< whole_windows only
  int64_t missing = 0;        ///< whole_windows: ids that a text too short for one window lacks
};
EncodedRolling EncodeRolling(const Tokenizer& tokenizer, const RollingRequest& request,
                             BosPolicy bos, int64_t max_length);

struct EncodedPrompt {
  std::vector<TokenId> ids;  ///< never empty
  int64_t dropped = 0;
};

/// Keeps the last `max_length` - `max_new_tokens` ids. Throws Error (data) where that leaves none.
/// `middle_truncate_to`: a longer prompt is first cut to its first and last halves of that many
/// ids, decoded and encoded again (LongBench).
EncodedPrompt EncodePrompt(const Tokenizer& tokenizer, const std::string& prompt, BosPolicy bos,
                           int64_t max_length, int64_t max_new_tokens,
                           std::optional<int64_t> middle_truncate_to);

/// Whether the text of newly generated ids holds a stop string. An empty one is met at once.
bool MeetsStop(const Tokenizer& tokenizer, std::span<const TokenId> ids,
               const std::vector<std::string>& stops);

/// Cuts at the first occurrence of each stop string, one after the other; empty ones are ignored.
/// Returns whether anything was cut.
bool CutAtStops(std::string& text, const std::vector<std::string>& stops);

}  // namespace natsl::model_adapters
