// Sessions over a network.
#include "model_adapters/native/session.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "core/cast.h"
#include "core/error.h"
#include "model_adapters/native/grow_state.h"
#include "model_adapters/native/sampler.h"

namespace natsl::model_adapters::native {

CallGuard::CallGuard(int threads) : inference_(true) {
  const int wished = threads > 0 ? threads : omp_get_num_procs();
  // One team for the kernels, LibTorch and its BLAS; the number belongs to the calling thread.
  if (omp_get_max_threads() != wished || at::get_num_threads() != wished) {
    at::set_num_threads(wished);
    omp_set_num_threads(wished);
  }
}

namespace {

class NativeSession final : public Session {
 public:
  NativeSession(std::shared_ptr<const Network> network, int64_t batch, int64_t batch_tokens,
                int threads, ChunkChoices* choices)
      : network_(std::move(network)),
        batch_tokens_(batch_tokens),
        threads_(threads),
        choices_(choices) {
    if (batch < 1) throw InternalError("session: batch {} is not positive", batch);
    states_.assign(static_cast<size_t>(batch), network_->NewState());
  }

  int64_t batch() const override { return core::Size(states_); }
  int64_t length() const override { return states_.front().length; }
  int64_t longest_pass() const override { return longest_pass_; }

  void Prefill(std::span<const TokenId> ids) override {
    const CallGuard guard(threads_);
    if (ids.empty() || core::Size(ids) % batch() != 0) {
      throw InternalError("session: {} ids for a batch of {}", ids.size(), batch());
    }
    const int64_t tokens = core::Size(ids) / batch();
    const int64_t piece = std::max<int64_t>(1, batch_tokens_ / batch());
    for (int64_t begin = 0; begin < tokens; begin += piece) {
      const int64_t count = std::min(piece, tokens - begin);
      Batch pass;
      pass.choices = choices_;
      std::vector<int64_t> last_rows;
      for (int64_t s = 0; s < batch(); ++s) {
        pass.Add(states_[static_cast<size_t>(s)],
                 ids.subspan(static_cast<size_t>(s * tokens + begin), static_cast<size_t>(count)),
                 true);
        last_rows.push_back(pass.tokens() - 1);
      }
      const at::Tensor x = network_->Forward(pass);
      longest_pass_ = std::max(longest_pass_, pass.tokens());
      if (begin + count == tokens) last_ = x.index_select(0, at::tensor(last_rows, at::kLong));
    }
    logits_ = at::Tensor();
  }

  void Step(std::span<const TokenId> ids) override {
    if (core::Size(ids) != batch()) {
      throw InternalError("session: {} ids for a batch of {}", ids.size(), batch());
    }
    Prefill(ids);
  }

  std::vector<TokenId> Decode(int64_t steps) override {
    const CallGuard guard(threads_);
    std::vector<TokenId> ids;
    for (int64_t i = 0; i < steps; ++i) {
      const at::Tensor logits = Logits();
      const size_t width = static_cast<size_t>(logits.size(1));
      std::vector<TokenId> next;
      for (int64_t s = 0; s < batch(); ++s) {
        const float* row = logits.data_ptr<float>() + static_cast<size_t>(s) * width;
        next.push_back(Argmax(std::span(row, width)));
      }
      Step(next);
      ids.insert(ids.end(), next.begin(), next.end());
    }
    return ids;
  }

  std::vector<float> NextLogProbs() override {
    const CallGuard guard(threads_);
    const at::Tensor log_probs = Logits().log_softmax(-1);
    const float* data = log_probs.data_ptr<float>();
    return std::vector<float>(data, data + log_probs.numel());
  }

  void Synchronize() override {}

  std::unique_ptr<Session> Fork() override {
    return std::unique_ptr<Session>(new NativeSession(*this));
  }

  model_adapters::StateBytes StateBytes() const override {
    model_adapters::StateBytes sum;
    for (const SequenceState& state : states_) {
      const model_adapters::StateBytes one = BytesOf(state);
      sum.kv += one.kv;
      sum.recurrent += one.recurrent;
      sum.convolution += one.convolution;
    }
    return sum;
  }

  bool GrowSynthetic(int64_t length) override {
    const CallGuard guard(threads_);
    std::vector<SequenceState> grown = states_;
    for (SequenceState& state : grown) {
      if (!GrowState(network_->spec(), length, state)) return false;
    }
    states_ = std::move(grown);
    return true;
  }

 private:
  // Of the last position; computed once, when first asked for.
  const at::Tensor& Logits() {
    if (!last_.defined()) throw InternalError("session: no token was fed yet");
    if (!logits_.defined()) logits_ = network_->Logits(last_);
    return logits_;
  }

  std::shared_ptr<const Network> network_;
  int64_t batch_tokens_, longest_pass_ = 0;
  int threads_;
  ChunkChoices* choices_;
  std::vector<SequenceState> states_;
  at::Tensor last_;    ///< residual stream of the last position [batch, hidden]
  at::Tensor logits_;  ///< [batch, vocabulary], or undefined
};

}  // namespace

std::unique_ptr<Session> MakeSession(std::shared_ptr<const Network> network, int64_t batch,
                                     int64_t batch_tokens, int threads, ChunkChoices* choices) {
  return std::make_unique<NativeSession>(std::move(network), batch, batch_tokens, threads, choices);
}

}  // namespace natsl::model_adapters::native
