// Options of natsl-train: one struct, declared beside their help.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace natsl::training {

struct TrainOptions {
  std::string config, tokenizer, output;
  int64_t steps = 1000;
  int64_t batch_tokens = 16384;  ///< of a step, over all micro-batches and GPUs
  int64_t context = 512;
  std::string curriculum;  ///< "": `context` throughout
  int64_t accumulate = 1;
  double lr = 2e-3, min_lr = 1e-4;
  int64_t warmup = 100;
  double weight_decay = 0.1, clip = 1, beta1 = 0.9, beta2 = 0.95;
  std::string dtype = "float32", save_dtype = "bfloat16", device = "cpu";
  int64_t gpus = 1;
  uint64_t seed = 1;
  std::string mixture = "needle=1,needles=1,recall=2,phonebook=1,story=1";
  int64_t threads = 1;  ///< generator threads
  int64_t checkpoint_every = 1000, log_every = 50, stop_after = 0;
  bool quiet = false;
};

/// Adds the options to a command.
void AddTrainOptions(CLI::App& app, TrainOptions& options);

/// What goes into the run's record, and must be the same when a run goes on: a JSON object as text.
std::string IdentityJson(const TrainOptions& options);

/// Throws Error (usage) where options contradict each other.
void CheckTrainOptions(const TrainOptions& options);

}  // namespace natsl::training
