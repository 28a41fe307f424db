// Prefill in as few passes as the memory allows; steps and decoding by CUDA graph.
#include "model_adapters/native/cuda/session.h"

#include <algorithm>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/cuda/call_guard.h"

namespace natsl::model_adapters::native::cuda {
namespace {

class DeviceSession final : public Session {
 public:
  DeviceSession(std::shared_ptr<Engine> engine, int64_t batch, int64_t batch_tokens)
      : engine_(std::move(engine)), batch_tokens_(batch_tokens) {
    if (batch < 1) throw InternalError("session: batch {} is not positive", batch);
    for (int64_t s = 0; s < batch; ++s) states_.push_back(engine_->NewDeviceState());
  }

  int64_t batch() const override { return core::Size(states_); }
  int64_t length() const override { return states_.front()->length(); }
  int64_t longest_pass() const override { return longest_pass_; }

  void Prefill(std::span<const TokenId> ids) override {
    InEngine(*engine_, [&] { Feed(ids); });
  }

  void Step(std::span<const TokenId> ids) override {
    if (core::Size(ids) != batch()) {
      throw InternalError("session: {} ids for a batch of {}", ids.size(), batch());
    }
    Prefill(ids);
  }

  std::vector<TokenId> Decode(int64_t steps) override {
    CheckFed();
    if (steps < 1) return {};
    return InEngine(*engine_, [&] {
      const at::Tensor history = TakeStep(next_, steps).cpu();
      const int32_t* ids = history.data_ptr<int32_t>();
      return std::vector<TokenId>(ids, ids + history.numel());
    });
  }

  std::vector<float> NextLogProbs() override {
    const CallGuard guard(*engine_);
    CheckFed();
    at::Tensor logits = logits_;
    if (const double cap = engine_->network().spec().logit_soft_cap; cap > 0) {
      logits = logits.div(cap).tanh_().mul_(cap);
    }
    const at::Tensor host = logits.log_softmax(-1).cpu();
    const float* data = host.data_ptr<float>();
    return std::vector<float>(data, data + host.numel());
  }

  void Synchronize() override {
    const CallGuard guard(*engine_);
    kernels::cuda::Check(cudaStreamSynchronize(CurrentStream()), "session");
  }

  std::unique_ptr<Session> Fork() override {
    auto fork = std::make_unique<DeviceSession>(engine_, batch(), batch_tokens_);
    for (size_t s = 0; s < states_.size(); ++s) fork->states_[s] = states_[s]->ForkState();
    fork->logits_ = logits_;
    fork->next_ = next_;
    fork->longest_pass_ = longest_pass_;
    return fork;
  }

  bool GrowSynthetic(int64_t length) override {
    return InEngine(*engine_, [&] { return engine_->Lengthen(Pointers(), length); });
  }

  model_adapters::StateBytes StateBytes() const override {
    const CallGuard guard(*engine_);
    model_adapters::StateBytes sum;
    for (const auto& state : states_) {
      const model_adapters::StateBytes one = state->Bytes();
      sum.kv += one.kv;
      sum.recurrent += one.recurrent;
      sum.convolution += one.convolution;
    }
    return sum;
  }

 private:
  void Feed(std::span<const TokenId> ids) {
    if (ids.empty() || core::Size(ids) % batch() != 0) {
      throw InternalError("session: {} ids for a batch of {}", ids.size(), batch());
    }
    const int64_t tokens = core::Size(ids) / batch();
    if (tokens == 1) {
      TakeStep(engine_->Upload(ids), 1);
      return;
    }
    const int64_t most =
        std::max(batch_tokens_, std::min(kLongestDevicePass, engine_->TokensThatFit()));
    const int64_t piece = std::clamp<int64_t>(most / batch(), 1, tokens);
    engine_->ForgetLongestPass();
    for (int64_t begin = 0; begin < tokens; begin += piece) {
      const int64_t count = std::min(piece, tokens - begin);
      std::vector<RunnerPiece> pieces;
      std::vector<int64_t> last_rows;
      for (int64_t s = 0; s < batch(); ++s) {
        pieces.push_back(
            {states_[static_cast<size_t>(s)].get(),
             ids.subspan(static_cast<size_t>(s * tokens + begin), static_cast<size_t>(count)),
             true});
        last_rows.push_back((s + 1) * count - 1);
      }
      const Residual residual = engine_->Run(pieces, nullptr);
      if (begin + count < tokens) continue;
      const at::Tensor rows =
          at::tensor(at::ArrayRef<int64_t>(last_rows.data(), last_rows.size()), at::kLong)
              .to(at::kCUDA);
      logits_ = engine_->network().RawLogits(engine_->network().FinalNorm(residual, rows));
      next_ = engine_->Argmax(logits_);
    }
    longest_pass_ = std::max(longest_pass_, engine_->longest_pass());
  }

  std::vector<DeviceState*> Pointers() const {
    std::vector<DeviceState*> states;
    for (const auto& state : states_) states.push_back(state.get());
    return states;
  }

  void CheckFed() const {
    if (!logits_.defined()) throw InternalError("session: no token was fed yet");
  }

  // Returns the ids that were consumed, [steps, batch].
  at::Tensor TakeStep(const at::Tensor& ids, int64_t steps) {
    Engine::Steps taken = engine_->Decode(Pointers(), ids, steps);
    logits_ = taken.logits;
    next_ = taken.next;
    return taken.history;
  }

  std::shared_ptr<Engine> engine_;
  int64_t batch_tokens_, longest_pass_ = 0;
  std::vector<std::unique_ptr<DeviceState>> states_;
  at::Tensor logits_;  ///< of the last position, before the soft cap: float32 [batch, vocabulary]
  at::Tensor next_;    ///< its argmax, int32 [batch]
};

}  // namespace

std::unique_ptr<Session> MakeSession(std::shared_ptr<Engine> engine, int64_t batch,
                                     int64_t batch_tokens) {
  return std::make_unique<DeviceSession>(std::move(engine), batch, batch_tokens);
}

}  // namespace natsl::model_adapters::native::cuda
