// A model slowed on purpose: every call of its sessions takes a given part longer than the model
// itself took, by waiting busily on the clock.
#pragma once

#include <utility>

#include "core/clock.h"
#include "model_adapters/token_model.h"

namespace natsl::latency {

class SlowModel final : public model_adapters::TokenModel {
 public:
  using TokenId = model_adapters::TokenId;

  /// `part`: 0.2 takes 20 % longer. `model` and `clock` outlive this.
  SlowModel(model_adapters::TokenModel& model, double part, const core::Clock& clock)
      : model_(model), part_(part), clock_(clock) {}

  const model_adapters::ModelInfo& Info() const override { return model_.Info(); }
  void Score(std::span<const model_adapters::TokenScoreRequest> requests,
             std::span<model_adapters::TokenScore> results,
             model_adapters::BatchListener& listener) override {
    model_.Score(requests, results, listener);
  }
  void Generate(std::span<const model_adapters::TokenGenerateRequest> requests,
                std::span<model_adapters::TokenGeneration> results,
                model_adapters::BatchListener& listener) override {
    model_.Generate(requests, results, listener);
  }
  model_adapters::Trace Forward(std::span<const TokenId> ids, bool hidden_states,
                                std::span<const int64_t> pieces) override {
    return model_.Forward(ids, hidden_states, pieces);
  }
  std::unique_ptr<model_adapters::Session> NewSession(int64_t batch) override {
    return std::make_unique<SlowSession>(model_.NewSession(batch), part_, clock_);
  }

 private:
  class SlowSession final : public model_adapters::Session {
    /// Waits when it goes out of scope.
    struct Wait {
      const core::Clock& clock;
      double part;
      int64_t begin = clock.NowNs();
      ~Wait() {
        const int64_t end = clock.NowNs();
        const auto until = end + static_cast<int64_t>(part * static_cast<double>(end - begin));
        while (clock.NowNs() < until) {
        }
      }
    };

    template <typename Call>
    auto Slowly(const Call& call) {
      const Wait wait{clock_, part_};
      return call();
    }

   public:
    SlowSession(std::unique_ptr<model_adapters::Session> session, double part,
                const core::Clock& clock)
        : session_(std::move(session)), part_(part), clock_(clock) {}

    int64_t batch() const override { return session_->batch(); }
    int64_t length() const override { return session_->length(); }
    void Prefill(std::span<const TokenId> ids) override {
      Slowly([&] { session_->Prefill(ids); });
    }
    void Step(std::span<const TokenId> ids) override {
      Slowly([&] { session_->Step(ids); });
    }
    std::vector<TokenId> Decode(int64_t steps) override {
      return Slowly([&] { return session_->Decode(steps); });
    }
    std::vector<float> NextLogProbs() override {
      return Slowly([&] { return session_->NextLogProbs(); });
    }
    void Synchronize() override { session_->Synchronize(); }
    std::unique_ptr<model_adapters::Session> Fork() override {
      return std::make_unique<SlowSession>(session_->Fork(), part_, clock_);
    }
    model_adapters::StateBytes StateBytes() const override { return session_->StateBytes(); }

   private:
    std::unique_ptr<model_adapters::Session> session_;
    double part_;
    const core::Clock& clock_;
  };

  model_adapters::TokenModel& model_;
  double part_;
  const core::Clock& clock_;
};

}  // namespace natsl::latency
