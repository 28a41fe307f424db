// A model whose work is the moving of a clock: what it costs is known exactly.
#pragma once

#include <algorithm>
#include <functional>

#include "core/cast.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/python_random.h"
#include "model_adapters/token_model.h"

namespace natsl::latency {

struct FakeCosts {
  double per_call = 1e-4;      ///< seconds
  double per_token = 1e-6;     ///< of a prefill
  double per_square = 0;       ///< times tokens squared
  double step = 1e-3;          ///< of a decoding step
  double step_per_depth = 0;   ///< times tokens held
  double head = 1e-4;          ///< of NextLogProbs
  double fork = 0;             ///< of a fork
  int64_t pass_tokens = 512;   ///< most of a pass; longer prefills are cut
  double noise = 0;            ///< relative, uniform in +-
  double first_call = 0;       ///< extra, once
  int64_t fails_at_call = -1;  ///< throws on this call, counted from 0
};

class FakeModel final : public model_adapters::TokenModel {
 public:
  using TokenId = model_adapters::TokenId;

  FakeModel(core::FakeClock& clock, const FakeCosts& costs, uint64_t seed = 1)
      : clock_(clock), costs_(costs), random_(seed) {
    info_.name = "fake";
    info_.max_length = 1 << 20;
    info_.vocabulary = 8;
  }

  const model_adapters::ModelInfo& Info() const override { return info_; }
  void Score(std::span<const model_adapters::TokenScoreRequest>,
             std::span<model_adapters::TokenScore>, model_adapters::BatchListener&) override {
    throw InternalError("not in this test");
  }
  void Generate(std::span<const model_adapters::TokenGenerateRequest>,
                std::span<model_adapters::TokenGeneration>,
                model_adapters::BatchListener&) override {
    throw InternalError("not in this test");
  }
  model_adapters::Trace Forward(std::span<const TokenId>, bool, std::span<const int64_t>) override {
    throw InternalError("not in this test");
  }
  std::unique_ptr<model_adapters::Session> NewSession(int64_t batch) override {
    return std::make_unique<FakeSession>(*this, batch);
  }
  std::vector<model_adapters::SoftmaxShare> SoftmaxShares() const override {
    return {{0, 0, calls_, 4 * calls_}};
  }

  int64_t calls() const { return calls_; }
  /// Seconds of one prefill of an empty session.
  double PrefillSeconds(int64_t tokens) const {
    const auto t = static_cast<double>(tokens);
    return costs_.per_call + costs_.per_token * t + costs_.per_square * t * t;
  }

 private:
  class FakeSession final : public model_adapters::Session {
   public:
    FakeSession(FakeModel& model, int64_t batch) : model_(model), batch_(batch) {}
    int64_t batch() const override { return batch_; }
    int64_t length() const override { return length_; }
    int64_t longest_pass() const override { return longest_pass_; }
    void Prefill(std::span<const TokenId> ids) override {
      model_.Spend(model_.PrefillSeconds(core::Size(ids)));
      longest_pass_ = std::max(longest_pass_, std::min(core::Size(ids), model_.costs_.pass_tokens));
      length_ += core::Size(ids) / batch_;
    }
    void Step(std::span<const TokenId>) override {
      model_.Spend(model_.costs_.step +
                   model_.costs_.step_per_depth * static_cast<double>(length_));
      ++length_;
    }
    std::vector<TokenId> Decode(int64_t steps) override {
      for (int64_t i = 0; i < steps; ++i) Step({});
      return std::vector<TokenId>(static_cast<size_t>(steps * batch_), 3);
    }
    std::vector<float> NextLogProbs() override {
      model_.Spend(model_.costs_.head);
      return std::vector<float>(static_cast<size_t>(batch_ * 8), -1);
    }
    void Synchronize() override {}
    std::unique_ptr<model_adapters::Session> Fork() override {
      model_.clock_.Advance(static_cast<int64_t>(model_.costs_.fork * 1e9));
      return std::make_unique<FakeSession>(*this);
    }
    model_adapters::StateBytes StateBytes() const override {
      return {.kv = 16 * length_ * batch_, .recurrent = 128 * batch_, .convolution = 8 * batch_};
    }

   private:
    FakeModel& model_;
    int64_t batch_;
    int64_t length_ = 0, longest_pass_ = 0;
  };

  void Spend(double seconds) {
    if (calls_ == costs_.fails_at_call) throw InternalError("the device is gone");
    if (calls_ == 0) seconds += costs_.first_call;
    ++calls_;
    const double noise = 1 + costs_.noise * (2 * random_.Random() - 1);
    clock_.Advance(static_cast<int64_t>(seconds * noise * 1e9 + 0.5));
  }

  core::FakeClock& clock_;
  FakeCosts costs_;
  core::PythonRandom random_;
  model_adapters::ModelInfo info_;
  int64_t calls_ = 0;
};

}  // namespace natsl::latency
