#include "cli/expected_memory.h"

#include <algorithm>
#include <unordered_map>

#include "core/cast.h"
#include "model_adapters/spec/accounting.h"

namespace natsl::cli {
namespace {

using model_adapters::ModelSpec;
using model_adapters::TokenId;

/// Resident pages of the program and LibTorch with its threads, before any weight.
constexpr int64_t kProgramBytes = int64_t{230} << 20;
/// Rows whose logits exist at once, twice: as computed and as normalised.
constexpr int64_t kHeadRows = 256;

/// Keys and values of tokens [begin, end), and one sequence's other state.
int64_t KvBytes(const ModelSpec& spec, int64_t begin, int64_t end) {
  return model_adapters::StateBytesAt(spec, end, 4, 1).kv -
         model_adapters::StateBytesAt(spec, begin, 4, 1).kv;
}
int64_t FixedBytes(const ModelSpec& spec) {
  int64_t bytes = 0;
  for (const auto& layer : spec.layers) {
    bytes += model_adapters::FixedStateBytes(layer, spec.hidden);
  }
  return bytes;
}

/// Activations that live at once in a layer: the residual stream, its norm, the mixer's and the
/// MLP's inputs and outputs, in float32.
int64_t WorkSpace(const ModelSpec& spec, int64_t tokens) {
  int64_t widest = 0;
  for (const auto& layer : spec.layers) widest = std::max(widest, layer.mlp.width);
  return tokens * 4 * (8 * spec.hidden + 2 * widest) + kHeadRows * 4 * 2 * spec.vocabulary;
}

}  // namespace

ExpectedMemory MemoryOfModel(const ModelSpec& spec, const std::string& dtype) {
  ExpectedMemory memory;
  memory.weights = model_adapters::CountParameters(spec).total() * (dtype == "bfloat16" ? 2 : 4);
  memory.program = kProgramBytes;
  return memory;
}

void AddRequests(const std::vector<model_adapters::TokenScoreRequest>& requests,
                 ExpectedMemory& memory) {
  for (const auto& request : requests) {
    // Ids, and a log-prob for each scored one, in the model and in the answers.
    memory.requests += core::Size(request.ids) * static_cast<int64_t>(sizeof(TokenId)) +
                       (core::Size(request.ids) - request.scored_from) * 3 * 4;
  }
}

void AddScoring(const ModelSpec& spec, const model_adapters::ScorePlan& plan,
                ExpectedMemory& memory) {
  const int64_t fixed = FixedBytes(spec);
  const auto layers = std::max<int64_t>(1, core::Size(spec.layers));
  std::unordered_map<int64_t, int64_t> held;  // node → bytes of its own
  int64_t all = 0, most_tokens = 0;
  for (const auto& step : plan.steps) {
    int64_t passing = 0, tokens = 0;
    for (const auto& piece : step.pieces) {
      const int64_t bytes =
          KvBytes(spec, piece.begin, piece.end) + (held.contains(piece.node) ? 0 : fixed);
      tokens += piece.end - piece.begin;
      if (piece.retain) {
        held[piece.node] += bytes;
        all += bytes;
      } else {
        passing += bytes / layers;  // a sequence that ends here is kept for one layer at a time
      }
    }
    memory.states = std::max(memory.states, all + passing);
    most_tokens = std::max(most_tokens, tokens);
    for (const int64_t node : step.release) {
      all -= held[node];
      held.erase(node);
    }
    for (const auto& piece : step.pieces) {
      if (piece.retain || !held.contains(piece.node)) continue;
      all -= held[piece.node];
      held.erase(piece.node);
    }
  }
  memory.work_space = std::max(memory.work_space, WorkSpace(spec, most_tokens));
}

void AddGeneration(const ModelSpec& spec,
                   const std::vector<model_adapters::TokenGenerateRequest>& requests,
                   const model_adapters::GenerateLimits& limits, ExpectedMemory& memory) {
  const int64_t fixed = FixedBytes(spec);
  for (const auto& group : model_adapters::GenerateGroups(requests, limits)) {
    int64_t bytes = 0, tokens = 0;
    for (const size_t r : group) {
      const int64_t prompt = core::Size(requests[r].prompt);
      bytes += fixed + KvBytes(spec, 0, prompt + requests[r].max_new_tokens);
      tokens += prompt;
      memory.requests += prompt * static_cast<int64_t>(sizeof(TokenId));
    }
    memory.states = std::max(memory.states, bytes);
    memory.work_space =
        std::max(memory.work_space, WorkSpace(spec, std::min(tokens, limits.batch_tokens)));
  }
}

}  // namespace natsl::cli
