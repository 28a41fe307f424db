// The 21 datasets of LongBench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace natsl::tasks::longbench {

struct Dataset {
  std::string name;
  int64_t max_new_tokens;
  bool in_e;           ///< part of LongBench-E
  std::string prompt;  ///< with {context} and, in most, {input}
};

const std::vector<Dataset>& Datasets();

}  // namespace natsl::tasks::longbench
