// What scoring and generation need of a model, wherever it runs: states that fork, packed passes,
// answers about rows of the last pass. No Torch, no device.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model_adapters/native/sampler.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters::native {

/// What the head is asked for at one row: the log-probabilities of some tokens.
struct HeadQuery {
  int64_t row = 0;  ///< of the rows given
  std::vector<TokenId> targets;
};
struct HeadAnswer {
  std::vector<float> log_probs;  ///< of the query's targets
  TokenId argmax = 0;            ///< the lowest id of the largest logit
};

/// State of one sequence; freed with the object.
class RunnerState {
 public:
  virtual ~RunnerState() = default;
  virtual int64_t length() const = 0;  ///< tokens consumed
  /// A second state that starts where this one is; what both hold is shared until one side writes.
  virtual std::unique_ptr<RunnerState> Fork() const = 0;
};

/// Tokens that one sequence consumes in a pass.
struct RunnerPiece {
  RunnerState* state = nullptr;
  std::span<const TokenId> ids;
  bool retain = true;  ///< the state is used after the pass
};

/// How a row's next token is chosen.
struct Chooser {
  const Sampling* sampling = nullptr;
  Random* random = nullptr;
};

class Runner {
 public:
  virtual ~Runner() = default;

  virtual std::unique_ptr<RunnerState> NewState() = 0;
  /// One packed pass; row r is the r-th token of the pieces in order.
  virtual void Forward(std::span<const RunnerPiece> pieces) = 0;
  /// Asks about rows of the last pass. The answers may be taken later, after other passes: a device
  /// computes them meanwhile. Throws Error (model) for a target outside the vocabulary.
  using Answers = std::function<std::vector<HeadAnswer>()>;
  virtual Answers Query(std::vector<HeadQuery> queries) = 0;
  /// The next token at each of `rows` of the last pass.
  virtual std::vector<TokenId> Choose(std::span<const int64_t> rows,
                                      std::span<const Chooser> choosers) = 0;
  /// NAtS-L heads over all layers.
  virtual int64_t nats_heads() const = 0;
  /// Of the chunks that each state's sequence has completed, how many each of these heads gave to
  /// softmax attention: [states][heads], layers in order. May be taken later, like answers; the
  /// states needn't live until then. Only where nats_heads() isn't 0.
  using SoftmaxChunks = std::function<std::vector<std::vector<int32_t>>()>;
  virtual SoftmaxChunks CountSoftmax(std::span<RunnerState* const> states) = 0;
  /// Passes that may be under way before the first one's answers are taken.
  virtual size_t passes_ahead() const { return 0; }
};

}  // namespace natsl::model_adapters::native
