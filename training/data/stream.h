// Where the random streams of training data begin. Evaluation draws from small seeds; training
// from 64-bit hashes in a domain of its own, so that the two never start alike.
#pragma once

#include <cstdint>
#include <string_view>

namespace natsl::training {

/// Training data must not be evaluation data; text for a language-model evaluation comes from the
/// same grammar in another domain.
enum class StreamDomain { kTraining, kEvaluation, kTokenizer };

/// The seed of one row of one step on one rank; the same on every machine. Bit 63 is always set:
/// no seed that a task is given by default or by hand (0, 1234, ...) comes near.
uint64_t StreamSeed(StreamDomain domain, uint64_t seed, int64_t rank, int64_t step, int64_t row);

}  // namespace natsl::training
