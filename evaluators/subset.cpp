#include "evaluators/subset.h"

#include <algorithm>
#include <numeric>

#include "core/cast.h"
#include "core/error.h"
#include "core/python_random.h"

namespace natsl::evaluators {
namespace {

/// `count` of [0, total) without replacement, ascending: Python's random.Random(seed).sample.
std::vector<int64_t> Draw(int64_t total, int64_t count, uint64_t seed) {
  std::vector<int64_t> chosen = core::PythonRandom(seed).Sample(total, count);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

Subset ChooseDocuments(const std::string& task_name, const tasks::Task& task,
                       const SubsetOptions& options) {
  const int64_t total = task.DocumentCount();
  Subset subset;
  if (options.sample) {
    subset.documents = Draw(total, std::min(total, *options.sample), options.sample_seed);
    if (*options.sample < total) {
      subset.description = fmt::format("{} of {} drawn with seed {}", subset.documents.size(),
                                       total, options.sample_seed);
    }
  } else if (options.ids) {
    for (int64_t i = 0; i < total; ++i) {
      const std::string id = task.Requests(i).id;
      if (options.ids->contains(id) || options.ids->contains(task_name + ":" + id)) {
        subset.documents.push_back(i);
      }
    }
    if (core::Size(subset.documents) < total) {
      subset.description = fmt::format("{} of {} by id", subset.documents.size(), total);
    }
  } else {
    const int64_t count = std::min(total, options.limit.value_or(total));
    subset.documents.resize(static_cast<size_t>(count));
    std::iota(subset.documents.begin(), subset.documents.end(), int64_t{0});
    if (count < total) subset.description = fmt::format("first {} of {}", count, total);
  }
  if (subset.documents.empty()) {
    throw UsageError("task {}: no document is left to evaluate of {}: check {}", task_name, total,
                     options.ids ? "the file given with --ids" : "--limit and --sample");
  }
  return subset;
}

}  // namespace natsl::evaluators
