// The record of a finished run: training.json and, for readers, CARD.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "training/loop/train_log.h"
#include "training/loop/train_options.h"

namespace natsl::training {

struct CardFacts {
  std::string family, device;
  int64_t parameters = 0;
  double seconds = 0;  ///< of all calls, each up to its last line of the log
  double tokens_per_second = 0;
  int64_t peak_memory_bytes = 0;
  LogLine last;
  std::vector<std::vector<double>> softmax_share;  ///< [NAtS-L layer][head], of the last step
};

/// Whether the folder has a card.
bool IsDescribed(const std::filesystem::path& folder);
void WriteCard(const std::filesystem::path& folder, const TrainOptions& options,
               const CardFacts& facts);

}  // namespace natsl::training
