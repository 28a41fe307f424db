// The contract of models that work on token ids: scoring and generation of many sequences, and
// sessions that hold state (latency, forks). Native models implement it on CPU and CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model_adapters/language_model.h"

namespace natsl::model_adapters {

/// Bytes of one sequence's state, or of several.
struct StateBytes {
  int64_t kv = 0;           ///< keys and values of softmax attention, pages in use
  int64_t recurrent = 0;    ///< linear-attention states
  int64_t convolution = 0;  ///< tails of short convolutions and token shifts
  int64_t total() const { return kv + recurrent + convolution; }
};

/// log p(ids[i] | ids[0..i)) for i in [scored_from, ids.size()); 1 <= scored_from < ids.size().
struct TokenScoreRequest {
  std::vector<TokenId> ids;
  int64_t scored_from = 1;
};
struct TokenScore {
  std::vector<float> log_probs;      ///< [ids.size() - scored_from]
  bool is_greedy = false;            ///< all scored ids are the argmax of their position
  SoftmaxCounts softmax;             ///< over the ids but the last, which isn't read
  std::optional<std::string> error;  ///< this request failed for good (a served model's may)
};

struct TokenGenerateRequest {
  std::vector<TokenId> prompt;  ///< at least one id
  int64_t max_new_tokens = 0;
  std::vector<TokenId> eos;  ///< any of these ends the sequence and isn't returned
  Sampling sampling;
  /// Called with all new ids after each step; true ends the sequence (a stop string was met).
  std::function<bool(std::span<const TokenId>)> stop;
  /// What `stop` looks for, for models that run elsewhere and stop by text. An empty one stops
  /// after the first id.
  std::vector<std::string> stop_strings;
};
struct TokenGeneration {
  std::vector<TokenId> ids;
  FinishReason finish = FinishReason::kLength;
  SoftmaxCounts softmax;  ///< over the prompt and the ids that were read again
  /// The text, from models that answer in text and may not tell the ids; `tokens` then counts them.
  std::optional<std::string> text;
  int64_t tokens = 0;
  std::optional<std::string> error;  ///< this request failed for good
};

/// `batch` sequences that advance together, with their state on the device. Copies of state are
/// made only where a fork diverges. Calls may return before the device has finished; whoever times
/// them calls Synchronize() before and after.
class Session {
 public:
  virtual ~Session() = default;

  virtual int64_t batch() const = 0;
  virtual int64_t length() const = 0;  ///< tokens consumed by each sequence
  /// The most tokens, of all sequences together, that one forward pass computed of this state; 0:
  /// not known.
  virtual int64_t longest_pass() const { return 0; }
  /// ids [batch, T] row-major, appended to the state.
  virtual void Prefill(std::span<const TokenId> ids) = 0;
  /// ids [batch]: one token each.
  virtual void Step(std::span<const TokenId> ids) = 0;
  /// `steps` greedy steps without host work in between where the device can (a CUDA graph); starts
  /// from the last position's argmax. Returns ids [steps, batch].
  virtual std::vector<TokenId> Decode(int64_t steps) = 0;
  /// log p of the next token, [batch, vocabulary].
  virtual std::vector<float> NextLogProbs() = 0;
  /// Waits for the device.
  virtual void Synchronize() = 0;
  virtual std::unique_ptr<Session> Fork() = 0;
  virtual model_adapters::StateBytes StateBytes() const = 0;
  /// Lengthens the state to `length` tokens by repeating what it holds, without computing them: for
  /// measuring at a depth, not for text. False, and nothing changed, where it can't.
  virtual bool GrowSynthetic(int64_t /*length*/) { return false; }
};

/// Everything a model computes of one sequence, for checks from outside.
struct Trace {
  int64_t tokens = 0;
  std::vector<float> logits;         ///< [tokens, vocabulary]
  std::vector<float> hidden_states;  ///< [layers + 1, tokens, hidden]; empty unless asked for
  int64_t layers = 0;
  int64_t hidden = 0;
};

/// Of the chunks that NAtS-L head `head` of layer `layer` completed so far, how many it gave to
/// softmax attention. A prefix shared by several requests counts as often as it was computed.
struct SoftmaxShare {
  int64_t layer = 0, head = 0;
  int64_t softmax_chunks = 0, chunks = 0;
};

/// Memory of a model's device, as its allocator counts it.
struct DeviceMemory {
  int64_t allocated_bytes = 0;  ///< in use now, weights included
  int64_t peak_bytes = 0;       ///< most in use since the last reset
  int64_t free_bytes = 0;       ///< what a new allocation may still take
};

/// What a device reaches in a large matrix product of the model's dtype, and in a copy.
struct DeviceRates {
  double flops_per_second = 0;
  double bytes_per_second = 0;  ///< read and written
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  virtual const ModelInfo& Info() const = 0;
  /// Plans over the whole span: sequences that share a prefix compute it once. The plan is a pure
  /// function of the requests and the settings.
  virtual void Score(std::span<const TokenScoreRequest> requests, std::span<TokenScore> results,
                     BatchListener& listener) = 0;
  virtual void Generate(std::span<const TokenGenerateRequest> requests,
                        std::span<TokenGeneration> results, BatchListener& listener) = 0;
  /// Gives each request to one of `parts` processes, so that they have about the same number of
  /// tokens to compute and planned batches stay whole. A pure function, as the plan is.
  virtual std::vector<int> Split(std::span<const TokenScoreRequest> requests, int parts) const;
  virtual std::vector<int> Split(std::span<const TokenGenerateRequest> requests, int parts) const;
  virtual std::unique_ptr<Session> NewSession(int64_t batch) = 0;
  /// One forward pass over `ids`, fed in pieces of `pieces` tokens (empty: all at once) to test
  /// that state is carried right.
  virtual Trace Forward(std::span<const TokenId> ids, bool hidden_states,
                        std::span<const int64_t> pieces) = 0;
  /// See LanguageModel::Notes.
  virtual std::vector<std::string> Notes() const { return {}; }
  /// Empty for models without such layers.
  virtual std::vector<SoftmaxShare> SoftmaxShares() const { return {}; }
  /// Nothing on the CPU, whose memory is the process's.
  virtual std::optional<DeviceMemory> Memory() { return std::nullopt; }
  virtual void ResetPeakMemory() {}
  /// Gives memory of the process that is only kept for the next call back to the system.
  virtual void ReleaseSpareMemory() {}
  /// Measures now, in about a second. Nothing where the device's memory is full, and on the CPU,
  /// which the profiler measures itself.
  virtual std::optional<DeviceRates> MeasureRates() { return std::nullopt; }
};

/// Tokens of a pass beyond which a longer one is no faster on a GPU: a session's prefill there
/// takes up to so many at once where the memory allows, or OpenOptions::batch_tokens if that is
/// more.
inline constexpr int64_t kLongestDevicePass = 262144;

/// How a checkpoint is opened.
struct OpenOptions {
  std::string device = "cpu";                   ///< "cpu", "cuda", "cuda:1"
  std::string dtype = "float32";                ///< dtype of weights: "float32" or "bfloat16"
  int threads = 0;                              ///< 0: all cores
  int64_t batch_tokens = 8192;                  ///< most tokens of one packed batch
  std::optional<int64_t> max_length;            ///< overrides the config's
  std::optional<uint64_t> random_weights_seed;  ///< no weights file: draw them
  bool share_prefixes = true;
  /// A request's result is the same whatever other requests there are: nothing is packed, and only
  /// requests with the same context share it.
  bool deterministic = false;
  /// NAtS-L: chunks go to softmax attention with this probability, drawn per chunk and head from a
  /// fixed seed, instead of by their scores (speed work on random weights).
  std::optional<double> forced_softmax_share;
};

/// Opens a Hugging Face checkpoint folder (or a config.json with random_weights_seed), loading the
/// native module on first use. Throws Error (model).
std::unique_ptr<TokenModel> OpenNativeModel(const std::string& path, const OpenOptions& options);

}  // namespace natsl::model_adapters
