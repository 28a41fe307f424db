// Stories for language-model losses: the grammar of training, in streams that training never draws.
#pragma once

#include <cstdint>
#include <string>

namespace natsl::training {

struct EvaluationTextOptions {
  int64_t stories = 400;
  uint64_t seed = 0;
};

/// One story a line.
std::string EvaluationText(const EvaluationTextOptions& options);

}  // namespace natsl::training
