// Passes over the network on the device: packing, slots, the head, decode steps by CUDA graph. The
// Runner of scoring and generation, and what sessions and traces are made of.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model_adapters/native/cuda/network.h"
#include "model_adapters/native/runner.h"

namespace natsl::model_adapters::native::cuda {

class StepGraph;

class Engine final : public Runner {
 public:
  Engine(const ModelSpec& spec, const WeightSource& source, core::DType dtype, int device);
  ~Engine() override;

  const Network& network() const { return *network_; }
  StatePool& pool() { return *pool_; }
  ChoicePolicy& choices() { return choices_; }
  /// Forgets NAtS-L's choices so far.
  void ResetCounts() { counts_.zero_(); }
  int device() const { return device_; }
  void* stream() const { return stream_; }

  // --- Runner
  std::unique_ptr<RunnerState> NewState() override { return NewDeviceState(); }
  void Forward(std::span<const RunnerPiece> pieces) override;
  Answers Query(std::vector<HeadQuery> queries) override;
  std::vector<TokenId> Choose(std::span<const int64_t> rows,
                              std::span<const Chooser> choosers) override;
  int64_t nats_heads() const override { return pool_->selected_heads(); }
  SoftmaxChunks CountSoftmax(std::span<RunnerState* const> states) override;
  size_t passes_ahead() const override { return 1; }

  std::unique_ptr<DeviceState> NewDeviceState() { return std::make_unique<DeviceState>(pool_); }

  /// One packed pass without a graph; pieces of one token each take the decode form. Halves itself
  /// where the memory for its activations isn't there.
  Residual Run(std::span<const RunnerPiece> pieces, std::vector<at::Tensor>* hidden_states);

  /// One token each for `states`, `steps` times; starts from `ids` (device int32 [states]), each
  /// later step from the former's argmax. Nothing waits for the device.
  struct Steps {
    at::Tensor logits;   ///< float32 [states, vocabulary] of the last step, before the soft cap
    at::Tensor next;     ///< int32 [states], its argmax
    at::Tensor history;  ///< int32 [steps, states], the ids that were consumed
  };
  Steps Decode(std::span<DeviceState* const> states, const at::Tensor& ids, int64_t steps);

  /// Lengthens states to `length` tokens by copies of their pages; the recurrent ones stay as they
  /// are. False, and nothing changed, where one holds no whole page yet or `length` isn't a
  /// multiple of 64 tokens further on.
  bool Lengthen(std::span<DeviceState* const> states, int64_t length);

  /// Argmax of each row of logits before the soft cap, int32.
  at::Tensor Argmax(const at::Tensor& logits) const;
  /// ids on the device as int32, checked against the vocabulary.
  at::Tensor Upload(std::span<const TokenId> ids) const;

  /// From now on the allocator may take `bytes` more than it holds.
  void LimitMemory(int64_t bytes);
  /// Most tokens of one pass that the memory has room for now.
  int64_t TokensThatFit() const;
  /// The most tokens of one pass since ForgetLongestPass.
  int64_t longest_pass() const { return longest_pass_; }
  void ForgetLongestPass() { longest_pass_ = 0; }
  /// Passes that had to be halved for lack of memory, and the fewest tokens that one had left.
  int64_t halvings() const { return halvings_; }
  int64_t halved_tokens() const { return halved_tokens_; }

 private:
  bool MayStep(std::span<const RunnerPiece> pieces) const;
  /// Makes sure that the allocator has the memory for a pass of `tokens`; false where it hasn't.
  bool Reserve(int64_t tokens);
  Residual RunHalves(std::span<const RunnerPiece> pieces, std::vector<at::Tensor>* hidden_states);
  Residual RunWhole(std::span<const RunnerPiece> pieces, std::vector<at::Tensor>* hidden_states);
  void StepOfEmptySequences(int64_t sequences);
  void CheckIds(std::span<const TokenId> ids) const;

  int device_;
  void* stream_;
  std::shared_ptr<StatePool> pool_;
  std::unique_ptr<Network> network_;
  ChoicePolicy choices_;
  at::Tensor counts_;
  std::map<int64_t, std::unique_ptr<StepGraph>> graphs_;  ///< by number of sequences
  int64_t reserved_tokens_ = 0, halvings_ = 0, halved_tokens_ = 0, longest_pass_ = 0;
  // Of the last pass: its rows, or a step's logits.
  Residual last_;
  std::optional<Steps> last_steps_;
};

}  // namespace natsl::model_adapters::native::cuda
