// Length fitting of RULER: the haystack size whose prompts just fit a target length, and samples of
// it (specs/ruler.md §7).
#pragma once

#include <functional>
#include <vector>

#include "tasks/ruler/generators.h"

namespace natsl::tasks::ruler {

using TokenCounter = std::function<int64_t(const std::string&)>;

/// How a sample that came out too long is shortened.
enum class Shrink {
  kReference,  ///< by whole increments, as the reference (a sample can lose half of its length)
  kBisect,     ///< by a search of its own, so that it reaches at least 95 % of the target
};

struct FittingPlan {
  int64_t target_length = 0;         ///< prompt and answer together
  int64_t answer_tokens = 0;         ///< room for the answer
  int64_t increment = 0;             ///< the family's step
  int64_t probe = 0;                 ///< size of the first probe; 0: the increment
  int64_t upper_factor = 3;          ///< search limit: budget / rate * factor
  bool floor_before_factor = false;  ///< common words: int(floor(budget / rate)) * factor
  int64_t least_upper = 0;           ///< the search limit is at least this
  int64_t example_tokens = 0;        ///< counted while sizing (variable tracking)
  Shrink shrink = Shrink::kReference;
};

struct FittedSample {
  Sample sample;
  int64_t length = 0;  ///< tokens of the prompt and room for the answer
};

/// The search of the reference: every probe is a new random sample.
int64_t FindSize(const Generator& generator, const FittingPlan& plan, const TokenCounter& count,
                 Streams& streams);

/// `samples` samples near size `size`, made and counted on all cores; the result doesn't depend on
/// their number. Error (data) where not even the smallest sample fits.
/// With kReference draws stand in the reference's order, byte for byte. With kBisect each sample
/// starts from the draws that it has there if all before it fit, is at least 98 % of the target
/// long where a unit of its size is small enough (a paragraph of a question often isn't: then the
/// longest of several draws), and never longer than the target.
std::vector<FittedSample> MakeSamples(const Generator& generator, const FittingPlan& plan,
                                      int64_t size, int64_t samples, const TokenCounter& count,
                                      Streams& streams);

/// Frequent words have a first search of their own: from budget / 6 in steps of budget / 32. Takes
/// target_length, answer_tokens and shrink of the plan.
std::vector<FittedSample> MakeFrequentWordSamples(const FittingPlan& plan, int64_t samples,
                                                  const TokenCounter& count, Streams& streams);

}  // namespace natsl::tasks::ruler
