// A training run from its options to the checkpoint folder.
#pragma once

#include <atomic>
#include <cstdint>

#include "training/loop/device.h"
#include "training/loop/train_options.h"

namespace natsl::training {

struct TrainResult {
  int64_t step = 0;  ///< steps done over all calls
  bool finished = false;
  double loss = 0;               ///< of the last log line
  double tokens_per_second = 0;  ///< of this call, first recordings left out
};

/// Trains, from the state in the output folder where it has one of the same run. Ends early, with a
/// checkpoint, where `stop` becomes true or after options.stop_after steps. Throws Error: usage
/// (options; another run's folder), model (config, tokenizer; the loss is no number any more).
TrainResult Train(const TrainOptions& options, Rank rank, const std::atomic<bool>& stop);

}  // namespace natsl::training
