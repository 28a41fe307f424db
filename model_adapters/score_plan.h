// The order in which scoring requests are computed: a prefix tree cut into packed steps. A pure
// function of the requests and the limits; no Torch, no weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model_adapters/spec/model_spec.h"
#include "model_adapters/token_model.h"

namespace natsl::model_adapters {

struct PlanLimits {
  int64_t batch_tokens = 8192;
  int64_t max_sequences = 1024;  ///< of one step
  int64_t max_held = 256;        ///< inner nodes of one unit: each keeps its state for a while
  bool share_prefixes = true;
  /// One sequence a step, cut where its scored ids begin, whatever the other requests are: a result
  /// depends on its own request alone. Requests with the same context still share it.
  bool deterministic = false;
};

/// The limits under which a model of this spec is run.
PlanLimits LimitsFor(const ModelSpec& spec, const OpenOptions& options);
/// Bytes of a layer's recurrent and convolution state (keys and values not counted).
int64_t FixedStateBytes(const LayerSpec& layer, int64_t hidden);

/// A run of input tokens that all requests of sorted places [first, last) share, after the
/// parent's.
struct PlanNode {
  int64_t parent = -1;
  int64_t begin = 0, end = 0;   ///< positions of the path; the tokens are those of order[first]
  int64_t first = 0, last = 0;  ///< places in ScorePlan::order
  std::vector<int64_t> children;
};

/// Tokens [begin, end) of a node's path, computed in one step.
struct PlanPiece {
  int64_t node = 0;
  int64_t begin = 0, end = 0;
  bool retain = false;  ///< the state is used by a later piece or a child
};

/// One packed forward pass.
struct PlanStep {
  std::vector<PlanPiece> pieces;
  int64_t first = 0, last = 0;   ///< places whose results need this step: it runs if any is wanted
  std::vector<size_t> finished;  ///< requests that are complete after it
  std::vector<int64_t> release;  ///< nodes whose states nobody needs after it
};

struct ScorePlan {
  std::vector<size_t> order;  ///< request of each place, sorted by ids
  std::vector<PlanNode> nodes;
  std::vector<PlanStep> steps;
};

/// The input of a request is its ids without the last one.
ScorePlan MakeScorePlan(std::span<const TokenScoreRequest> requests, const PlanLimits& limits);

/// Gives each request to one of `parts`, so that they cost about the same number of tokens and no
/// two of them compute the same step where that can be avoided. [requests] → part.
std::vector<int> SplitScorePlan(const ScorePlan& plan, int parts);
/// The same for groups that can't be cut, each of a known cost: [groups] → part.
std::vector<int> SplitGroups(std::span<const int64_t> costs, int parts);

/// Common leading tokens of two sequences.
int64_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b);

/// A shared prefix shorter than this isn't worth a fork.
constexpr int64_t kMinSharedTokens = 16;

}  // namespace natsl::model_adapters
