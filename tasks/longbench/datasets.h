// The 21 datasets of LongBench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace natsl::tasks::longbench {

enum class Metric {
  kQaF1,
  kQaF1Zh,
  kRouge,
  kRougeZh,
  kClassification,
  kRetrieval,
  kRetrievalZh,
  kCount,
  kCodeSimilarity
};

struct Dataset {
  std::string name;
  Metric metric;
  int64_t max_new_tokens;
  bool first_line_only;  ///< leading newlines are dropped and one line is scored
  bool in_e;             ///< part of LongBench-E
  std::string prompt;    ///< with {context} and, in most, {input}
};

const std::vector<Dataset>& Datasets();

}  // namespace natsl::tasks::longbench
