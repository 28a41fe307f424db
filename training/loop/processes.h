// One process a GPU: starting and ending them.
#pragma once

#include <cstdint>
#include <string>

#include "training/loop/device.h"

namespace natsl::training {

/// Forks count - 1 further processes of this program; returns who the caller is (the original is
/// rank 0). They end when the original does. Call before any thread or CUDA call. `output`: the
/// run's folder, which is made.
Rank StartRanks(int64_t count, const std::string& output);

/// Rank 0, at its end: waits for the others; the first exit status that isn't 0, else 0.
int WaitForRanks();

}  // namespace natsl::training
