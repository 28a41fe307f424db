// A Network as a Runner: the CPU's side of scoring and generation.
#pragma once

#include "model_adapters/native/network.h"
#include "model_adapters/native/runner.h"

namespace natsl::model_adapters::native {

/// `network` and `choices` (may be null) outlive the runner. `arena`: states of sequences that end
/// in a pass lie in recycled memory, worth it for packed scoring.
std::unique_ptr<Runner> MakeNetworkRunner(const Network& network, ChunkChoices* choices,
                                          bool arena);

}  // namespace natsl::model_adapters::native
