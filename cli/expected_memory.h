// How much memory a run is expected to need: weights, states held at once, a batch's work space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_adapters/generate_groups.h"
#include "model_adapters/score_plan.h"
#include "model_adapters/spec/model_spec.h"

namespace natsl::cli {

/// Bytes at the run's peak. Estimates, but for `weights`.
struct ExpectedMemory {
  int64_t weights = 0;
  int64_t states = 0;      ///< keys, values and recurrent states of sequences in flight
  int64_t work_space = 0;  ///< activations of the largest batch and logits of a block of rows
  int64_t requests = 0;    ///< token ids
  int64_t program = 0;     ///< the program with LibTorch
  int64_t total() const { return weights + states + work_space + requests + program; }
};

ExpectedMemory MemoryOfModel(const model_adapters::ModelSpec& spec, const std::string& dtype);
void AddRequests(const std::vector<model_adapters::TokenScoreRequest>& requests,
                 ExpectedMemory& memory);
/// Walks the plan with the states that it holds.
void AddScoring(const model_adapters::ModelSpec& spec, const model_adapters::ScorePlan& plan,
                ExpectedMemory& memory);
void AddGeneration(const model_adapters::ModelSpec& spec,
                   const std::vector<model_adapters::TokenGenerateRequest>& requests,
                   const model_adapters::GenerateLimits& limits, ExpectedMemory& memory);

}  // namespace natsl::cli
