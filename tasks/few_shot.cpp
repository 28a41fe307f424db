// lm-evaluation-harness 0.4.13's default and first_n samplers.
#include "tasks/few_shot.h"

#include <algorithm>
#include <numeric>

#include "core/cast.h"
#include "core/python_random.h"

namespace natsl::tasks {
namespace {

using Indices = std::vector<int64_t>;

/// The pool's indices without copies of the document; at most `enough` of them.
Indices Without(int64_t document, int64_t pool, int64_t enough,
                const std::function<bool(int64_t, int64_t)>& same) {
  Indices left;
  for (int64_t i = 0; i < pool && core::Size(left) < enough; ++i) {
    if (!same(document, i)) left.push_back(i);
  }
  return left;
}

void RequirePool(const std::string& task, int64_t needed, int64_t found, const char* detail) {
  if (needed <= found) return;
  throw DataError(
      "task {}: the few-shot pool has {} records{}, expected at least {}; lower --num-fewshot or "
      "give a larger pool with --fewshot-from",
      task, found, detail, needed);
}

}  // namespace

void RefuseFewShot(const std::string& task, const FewShotOptions& options) {
  if (options.count.value_or(0) == 0) return;
  throw UsageError("task {}: the protocol has no few-shot examples; leave --num-fewshot out", task);
}

FewShotDraw DrawFewShot(const std::string& task, const FewShotSizes& sizes,
                        const FewShotOptions& options,
                        const std::function<bool(int64_t, int64_t)>& same) {
  const int64_t count = options.count.value_or(0);
  FewShotDraw draw;
  draw.examples.resize(static_cast<size_t>(sizes.documents));
  if (count == 0) return draw;
  if (count < 0) throw UsageError("the number of few-shot examples is {}, expected >= 0", count);
  const bool first = options.sampler == FewShotSampler::kFirstN;
  const int64_t drawn = count + (sizes.removes_document && !first ? 1 : 0);
  RequirePool(
      task, drawn, sizes.pool,
      drawn > count ? " (one more than shown is drawn, in case the document is among them)" : "");
  core::PythonRandom random(options.seed);
  for (int64_t document = 0; document < sizes.documents; ++document) {
    const auto is_document = [&](int64_t index) { return same(document, index); };
    Indices shown;
    if (first) {
      shown.resize(static_cast<size_t>(count));
      std::iota(shown.begin(), shown.end(), int64_t{0});
    } else {
      shown = random.Sample(sizes.pool, drawn);
    }
    const bool leaked = std::any_of(shown.begin(), shown.end(), is_document);
    if (leaked && sizes.removes_document && !first) std::erase_if(shown, is_document);
    const bool excluded = leaked && (sizes.removes_document || options.exclude_evaluated);
    if (excluded && (first || core::Size(shown) < count || !sizes.removes_document)) {
      // Too few are left (the pool holds copies of the document): draw from the rest.
      Indices rest = Without(document, sizes.pool, first ? count : sizes.pool, same);
      RequirePool(task, count, core::Size(rest), " other than the evaluated document");
      if (first) {
        shown = std::move(rest);
      } else {
        shown = random.Sample(core::Size(rest), count);
        for (int64_t& index : shown) index = rest[static_cast<size_t>(index)];
      }
    }
    shown.resize(static_cast<size_t>(count));
    if (leaked && !excluded) ++draw.leaks;
    auto& examples = draw.examples[static_cast<size_t>(document)];
    for (const int64_t index : shown) examples.push_back(core::CheckedCast<int32_t>(index));
  }
  return draw;
}

}  // namespace natsl::tasks
