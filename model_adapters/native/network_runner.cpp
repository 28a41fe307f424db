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
      : network_(network), choices_(choices), use_arena_(arena) {
    for (const LayerSpec& layer : network.spec().layers) {
      const auto* nats = std::get_if<NatsSpec>(&layer.mixer);
      heads_of_.push_back(nats == nullptr ? 0 : nats->nats_heads);
      nats_heads_ += heads_of_.back();
    }
  }

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

  int64_t nats_heads() const override { return nats_heads_; }

  SoftmaxChunks CountSoftmax(std::span<RunnerState* const> states) override {
    std::vector<std::vector<int32_t>> counts;
    for (RunnerState* state : states) {
      const SequenceState& sequence = static_cast<NetworkState*>(state)->state();
      std::vector<int32_t>& heads = counts.emplace_back();
      for (size_t layer = 0; layer < heads_of_.size(); ++layer) {
        std::vector<int32_t> counts_of = sequence.layers[layer].softmax_chunks;
        counts_of.resize(static_cast<size_t>(heads_of_[layer]));  // before the first token: none
        heads.insert(heads.end(), counts_of.begin(), counts_of.end());
      }
    }
    return [counts = std::move(counts)]() mutable { return std::move(counts); };
  }

 private:
  const Network& network_;
  ChunkChoices* choices_;
  bool use_arena_;
  std::vector<int64_t> heads_of_;  ///< NAtS-L heads of each layer
  int64_t nats_heads_ = 0;
  Arena arena_;
  at::Tensor x_;  ///< residual stream of the last pass [tokens, hidden]
};

}  // namespace

std::unique_ptr<Runner> MakeNetworkRunner(const Network& network, ChunkChoices* choices,
                                          bool arena) {
  return std::make_unique<NetworkRunner>(network, choices, arena);
}

}  // namespace natsl::model_adapters::native
