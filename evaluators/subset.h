// Which documents of a task a run evaluates.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace natsl::evaluators {

/// At most one of the three is given; nothing: all documents.
struct SubsetOptions {
  std::optional<int64_t> limit;              ///< the first N
  std::optional<int64_t> sample;             ///< N drawn without replacement
  uint64_t sample_seed = 1234;               ///< the same documents for any model
  std::optional<std::set<std::string>> ids;  ///< those with these ids ("task:id", or "id")

  bool all() const { return !limit && !sample && !ids; }
};

struct Subset {
  std::vector<int64_t> documents;  ///< ascending
  std::string description;         ///< "first 20 of 200"; "": all
};

/// Throws Error (usage) where no document is left.
Subset ChooseDocuments(const std::string& task_name, const tasks::Task& task,
                       const SubsetOptions& options);

}  // namespace natsl::evaluators
