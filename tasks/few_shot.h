// Which few-shot examples each document gets: the reference harness's samplers, draw by draw.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tasks/task.h"

namespace natsl::tasks {

/// For protocols without examples: throws Error (usage) where some are asked for, as a report would
/// count examples that nobody was shown.
void RefuseFewShot(const std::string& task, const FewShotOptions& options);

/// The examples of every evaluated document, as indices into the pool, in the order shown.
struct FewShotDraw {
  std::vector<std::vector<int32_t>> examples;  ///< [documents]; each of the asked-for count
  int64_t leaks = 0;                           ///< documents that stand among their own examples
};

struct FewShotSizes {
  int64_t documents = 0;
  int64_t pool = 0;
  /// The protocol draws one more and removes copies of the evaluated document (tasks whose
  /// evaluated split isn't a test split).
  bool removes_document = false;
};

/// Draws options.count examples a document from one generator, Python's random.Random(seed), that
/// goes on from document to document; kFirstN takes the first ones of the pool.
/// `same(document, pool_index)`: the pool's record equals the document. With exclude_evaluated a
/// draw that holds the document is repeated from the pool without it.
/// Throws Error (data) where the pool is too small; `task` names it.
FewShotDraw DrawFewShot(const std::string& task, const FewShotSizes& sizes,
                        const FewShotOptions& options,
                        const std::function<bool(int64_t, int64_t)>& same);

}  // namespace natsl::tasks
