// The contract between evaluators and any model: strings in, results out, three request kinds
// (the field's own: loglikelihood, loglikelihood_rolling, generate_until).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace natsl::model_adapters {

using TokenId = int32_t;

/// log p(continuation | context). An empty context means the model's prefix token.
struct LoglikelihoodRequest {
  std::string context;
  std::string continuation;
};

/// log p(text), the text cut into windows of the model's length with one token of overlap
/// (lm-evaluation-harness's loglikelihood_rolling); or, with `whole_windows`, loss by position in
/// windows of a fixed length (specs/length_extrapolation.md, LX-1).
struct RollingRequest {
  std::string text;
  /// Longest window in tokens; nothing: the model's maximum length, which is also the limit unless
  /// `whole_windows` is set.
  std::optional<int64_t> max_length;
  /// At most this many windows of exactly max_length scored ids, each from a zero state: BOS where
  /// the policy gives one, then text ids without special tokens; what is left over isn't scored. A
  /// text too short for one window is skipped.
  std::optional<int64_t> whole_windows = {};
  /// Packed stream (whole_windows only): `text` and these, each followed by EOS, as one sequence
  /// whose windows share an end id.
  std::vector<std::string> packed = {};
};

/// Greedy where temperature is 0. The same seed gives the same text.
struct Sampling {
  double temperature = 0;
  int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  uint64_t seed = 0;
};

struct GenerateRequest {
  std::string prompt;
  /// The text is cut at the first occurrence of each, one after the other in this order.
  std::vector<std::string> stop;
  int64_t max_new_tokens = 256;
  Sampling sampling;
  /// Middle truncation (LongBench): a longer prompt keeps this many ids, half from each end; zero
  /// or less counts from the model's maximum length (-500: 500 less). Nothing: left truncation.
  std::optional<int64_t> middle_truncate_to;
};

/// What NAtS-L heads chose in a request's sequences, each counted whole: what is told doesn't
/// depend on how it was computed.
struct SoftmaxCounts {
  int64_t chunks = 0;  ///< of 64 tokens, completed: what each head chose for
  /// Of them, given to softmax attention: [heads of all NAtS-L layers, in order]. Empty: not told.
  std::vector<int32_t> by_head;
};

/// Common to every result. Exactly one of `error` or the answer is meaningful.
struct ResultBase {
  int64_t context_tokens = 0;        ///< ids fed before the first scored or generated one
  int64_t output_tokens = 0;         ///< ids scored or generated
  int64_t truncated_tokens = 0;      ///< ids cut off to fit the model
  bool skipped = false;              ///< too long, and the truncation policy is to skip
  bool cached = false;               ///< came from a response cache
  SoftmaxCounts softmax;             ///< of models whose ModelInfo names nats_layers
  std::optional<std::string> error;  ///< the request failed for good; never a silent zero
};

struct LoglikelihoodResult : ResultBase {
  double log_prob = 0;                 ///< natural log, sum over the continuation
  bool is_greedy = false;              ///< every continuation id is the argmax (ties: lowest id)
  std::vector<float> token_log_probs;  ///< [output_tokens]
};

struct RollingResult : ResultBase {
  double log_prob = 0;                 ///< sum over the windows, in order
  std::vector<float> token_log_probs;  ///< [output_tokens]
  int64_t scored_bytes = 0;            ///< of the scored ids' text; whole_windows only
};

enum class FinishReason { kEos, kStop, kLength };
constexpr const char* Name(FinishReason reason) {
  return reason == FinishReason::kEos ? "eos" : reason == FinishReason::kStop ? "stop" : "length";
}

struct GenerateResult : ResultBase {
  std::string text;          ///< after the stop cut
  std::vector<TokenId> ids;  ///< all generated ids, EOS not included
  FinishReason finish = FinishReason::kLength;
};

/// A layer whose heads give each chunk to softmax or to linear attention.
struct NatsLayer {
  int64_t layer = 0, heads = 0;
};

/// What is told of a model in every report. `settings` lists what else can change a result.
struct ModelInfo {
  std::string name;                   ///< as the user gave it
  std::string family;                 ///< "gated_deltanet", "openai", "scripted", ...
  std::string weights_fingerprint;    ///< SHA-256 over the weights' bytes and the config
  std::string tokenizer_fingerprint;  ///< "" without a tokenizer
  std::string dtype;
  std::string device;
  int64_t max_length = 0;              ///< tokens the model may read
  int64_t vocabulary = 0;              ///< width of the logits
  int64_t parameters = 0;              ///< 0 where unknown
  std::vector<NatsLayer> nats_layers;  ///< empty: none, or not known
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Watches a batch of requests being answered. Called from the thread that made the call.
class BatchListener {
 public:
  virtual ~BatchListener() = default;
  /// False where the answer is known already (a resumed run): a planned batch in which nothing is
  /// wanted isn't computed, and its results stay untouched. The plan doesn't depend on it.
  virtual bool Wanted(size_t /*index*/) { return true; }
  /// `finished` requests have their results in place. `tokens`: ids the batch ran.
  virtual void OnBatch(std::span<const size_t> /*finished*/, int64_t /*tokens*/) {}
  /// Asked between batches; true ends the call early, the rest of the results untouched.
  virtual bool StopRequested() { return false; }
};

/// Any model. Requests are planned over the whole span, so the caller passes all it has. Results
/// stand in the requests' order and don't depend on it. Throws Error (model) on failures that
/// aren't one request's.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual const ModelInfo& Info() const = 0;
  virtual void Loglikelihood(std::span<const LoglikelihoodRequest> requests,
                             std::span<LoglikelihoodResult> results, BatchListener& listener) = 0;
  virtual void LoglikelihoodRolling(std::span<const RollingRequest> requests,
                                    std::span<RollingResult> results, BatchListener& listener) = 0;
  virtual void GenerateUntil(std::span<const GenerateRequest> requests,
                             std::span<GenerateResult> results, BatchListener& listener) = 0;
  /// Tokens of a text as the model would count them; nothing where the model can't tell.
  virtual std::optional<int64_t> CountTokens(const std::string& text) const = 0;
  /// What happened while requests were answered and doesn't change a result (retries, restarts), a
  /// line each, for the terminal.
  virtual std::vector<std::string> Notes() const { return {}; }
};

}  // namespace natsl::model_adapters
