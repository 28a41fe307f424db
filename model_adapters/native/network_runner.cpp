// Passes over a Network, the residual stream kept until the next one.
#include "model_adapters/native/network_runner.h"

namespace natsl::model_adapters::native {
namespace {

class NetworkState final : public RunnerState {
 public:
  explicit NetworkState(SequenceState state) : state_(std::move(state)) {}
  int64_t length() const override { return state_.length; }
  std::unique_ptr<RunnerState> Fork() const override {
    return std::make_unique<NetworkState>(state_);
  }
  SequenceState& state() { return state_; }

 private:
  SequenceState state_;
};

class NetworkRunner final : public Runner {
 public:
  NetworkRunner(const Network& network, ChunkChoices* choices, bool arena)
      : network_(network), choices_(choices), use_arena_(arena) {}

  std::unique_ptr<RunnerState> NewState() override {
    return std::make_unique<NetworkState>(network_.NewState());
  }

  void Forward(std::span<const RunnerPiece> pieces) override {
    Batch batch;
    if (use_arena_) batch.arena = &arena_;
    batch.choices = choices_;
    for (const RunnerPiece& piece : pieces) {
      batch.Add(static_cast<NetworkState*>(piece.state)->state(), piece.ids, piece.retain);
    }
    x_ = at::Tensor();
    x_ = network_.Forward(batch);
  }

  Answers Query(std::vector<HeadQuery> queries) override {
    return [answers = network_.Query(x_, queries)]() mutable { return std::move(answers); };
  }

  std::vector<TokenId> Choose(std::span<const int64_t> rows,
                              std::span<const Chooser> choosers) override {
    const at::Tensor index = at::tensor(at::ArrayRef<int64_t>(rows.data(), rows.size()), at::kLong);
    const at::Tensor logits = network_.Logits(x_.index_select(0, index));
    const auto width = static_cast<size_t>(network_.spec().vocabulary);
    std::vector<TokenId> ids;
    for (size_t i = 0; i < rows.size(); ++i) {
      ids.push_back(Sample(std::span(logits.data_ptr<float>() + i * width, width),
                           *choosers[i].sampling, *choosers[i].random));
    }
    return ids;
  }

 private:
  const Network& network_;
  ChunkChoices* choices_;
  bool use_arena_;
  Arena arena_;
  at::Tensor x_;  ///< residual stream of the last pass [tokens, hidden]
};

}  // namespace

std::unique_ptr<Runner> MakeNetworkRunner(const Network& network, ChunkChoices* choices,
                                          bool arena) {
  return std::make_unique<NetworkRunner>(network, choices, arena);
}

}  // namespace natsl::model_adapters::native
