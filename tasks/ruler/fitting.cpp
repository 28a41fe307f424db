// Length fitting of RULER.
#include "tasks/ruler/fitting.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/cast.h"
#include "core/threads.h"
#include "tasks/length_search.h"

namespace natsl::tasks::ruler {
namespace {

Error NothingFits(const FittingPlan& plan) {
  return DataError(
      "no sample fits in {} tokens with {} for the answer; the shortest haystack is longer: choose "
      "a larger length",
      plan.target_length, plan.answer_tokens);
}

/// Length of a sample with its answer; nothing where it can't be made.
std::optional<int64_t> Length(const std::optional<Sample>& sample, const FittingPlan& plan,
                              const TokenCounter& count) {
  if (!sample) return std::nullopt;
  return count(sample->prompt) + plan.answer_tokens;
}

/// One sample that is known not to fit at `size`, shortened by whole increments as the reference
/// does it.
FittedSample ShrunkAsReference(const Generator& generator, const FittingPlan& plan, int64_t size,
                               int64_t index, const TokenCounter& count, Streams& streams) {
  // Sizes at or below the increment aren't lowered further; the reference tries them for ever.
  constexpr int kTries = 100;
  int tries = 0;
  while (tries < kTries) {
    if (size > plan.increment) {
      size -= plan.increment;
    } else {
      ++tries;
    }
    std::optional<Sample> sample = generator.Make(size, index, streams);
    const std::optional<int64_t> length = Length(sample, plan, count);
    if (length && *length <= plan.target_length) return {std::move(*sample), *length};
  }
  throw NothingFits(plan);
}

/// Makes a sample of some size from draws that are the same for each size.
using SampleAt = std::function<std::optional<Sample>(int64_t)>;

/// The sample closest below the target, from `size` on. Nothing where no size fits.
std::optional<FittedSample> FitOne(const SampleAt& at, const FittingPlan& plan, int64_t size,
                                   const TokenCounter& count) {
  std::optional<FittedSample> best;
  FindLength({.target = plan.target_length, .guess = size, .most = 2 * size + 2},
             [&](int64_t units) {
               std::optional<Sample> sample = at(units);
               const std::optional<int64_t> length = Length(sample, plan, count);
               const bool fits = length && *length <= plan.target_length;
               if (fits && (!best || *length > best->length)) {
                 best = FittedSample{std::move(*sample), *length};
               }
               return length;
             });
  return best;
}

/// Sample `index`, whose draws begin at `start`. Where its pieces are too coarse to come near the
/// target (paragraphs of a question), other draws are tried and the longest sample is taken.
FittedSample FitDraws(const Generator& generator, const FittingPlan& plan, int64_t size,
                      int64_t index, const Streams& start, const TokenCounter& count) {
  // With many pieces other draws are no longer ones.
  const int redraws = size < 200 ? 16 : 0;
  const auto enough =
      static_cast<int64_t>(std::ceil(static_cast<double>(plan.target_length) * 0.95));
  std::optional<FittedSample> best;
  for (int redraw = 0; redraw <= redraws; ++redraw) {
    Streams from = start;
    for (int i = 0; i < redraw; ++i) from.python.NextU32();
    std::optional<FittedSample> fitted = FitOne(
        [&](int64_t units) {
          Streams attempt = from;
          return generator.Make(units, index, attempt);
        },
        plan, size, count);
    if (fitted && (!best || fitted->length > best->length)) best = std::move(fitted);
    if (best && best->length >= enough) break;
  }
  if (!best) throw NothingFits(plan);
  return std::move(*best);
}

/// Every sample starts from the draws that it would have if all of them fitted, so samples don't
/// depend on each other's lengths and are fitted in parallel.
std::vector<FittedSample> MakeByBisection(const Generator& generator, const FittingPlan& plan,
                                          int64_t size, int64_t samples, const TokenCounter& count,
                                          Streams& streams) {
  std::vector<Streams> starts;
  for (int64_t i = 0; i < samples; ++i) {
    starts.push_back(streams);
    generator.Make(size, i, streams);
  }
  // About half of the samples of exactly that size would be too long and be counted twice.
  const int64_t guess = size > 20 ? size - std::max<int64_t>(1, size / 200) : size;
  std::vector<FittedSample> done(static_cast<size_t>(samples));
  core::ParallelFor(samples, 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      done[at] = FitDraws(generator, plan, guess, i, starts[at], count);
    }
  });
  return done;
}

std::vector<FittedSample> MakeAsReference(const Generator& generator, const FittingPlan& plan,
                                          int64_t size, int64_t samples, const TokenCounter& count,
                                          Streams& streams) {
  const int64_t block_size = 8 * std::max(1u, std::thread::hardware_concurrency());
  std::vector<FittedSample> done;
  while (core::Size(done) < samples) {
    // A block is drawn as if all of it fitted, and counted in parallel; from the first sample that
    // doesn't fit the draws are taken back.
    const int64_t first = core::Size(done);
    const int64_t n = std::min(block_size, samples - first);
    std::vector<std::optional<Sample>> block(static_cast<size_t>(n));
    std::vector<Streams> after;
    for (int64_t i = 0; i < n; ++i) {
      block[static_cast<size_t>(i)] = generator.Make(size, first + i, streams);
      after.push_back(streams);
    }
    std::vector<std::optional<int64_t>> lengths(static_cast<size_t>(n));
    core::ParallelFor(n, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        lengths[at] = Length(block[at], plan, count);
      }
    });
    for (size_t i = 0; i < block.size(); ++i) {
      if (lengths[i] && *lengths[i] <= plan.target_length) {
        done.push_back({std::move(*block[i]), *lengths[i]});
        continue;
      }
      streams = after[i];
      done.push_back(ShrunkAsReference(generator, plan, size, first + static_cast<int64_t>(i),
                                       count, streams));
      break;
    }
  }
  return done;
}

}  // namespace

int64_t FindSize(const Generator& generator, const FittingPlan& plan, const TokenCounter& count,
                 Streams& streams) {
  const int64_t probe = plan.probe > 0 ? plan.probe : plan.increment;
  const std::optional<Sample> first = generator.Make(probe, 0, streams);
  if (!first) return plan.increment;
  const double rate = static_cast<double>(count(first->prompt)) / static_cast<double>(probe);
  const double fitting = static_cast<double>(plan.target_length) / rate;
  const int64_t estimate =
      plan.floor_before_factor
          ? static_cast<int64_t>(std::floor(fitting)) * plan.upper_factor
          : static_cast<int64_t>(fitting * static_cast<double>(plan.upper_factor));
  int64_t high = std::max(estimate, plan.least_upper);
  int64_t low = plan.increment;
  int64_t best = plan.increment;
  while (low <= high) {
    const int64_t middle = (low + high) / 2;
    const std::optional<int64_t> length = Length(generator.Make(middle, 0, streams), plan, count);
    if (length && *length + plan.example_tokens <= plan.target_length) {
      best = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return best;
}

std::vector<FittedSample> MakeSamples(const Generator& generator, const FittingPlan& plan,
                                      int64_t size, int64_t samples, const TokenCounter& count,
                                      Streams& streams) {
  return plan.shrink == Shrink::kBisect
             ? MakeByBisection(generator, plan, size, samples, count, streams)
             : MakeAsReference(generator, plan, size, samples, count, streams);
}

std::vector<FittedSample> MakeFrequentWordSamples(const FittingPlan& plan, int64_t samples,
                                                  const TokenCounter& count, Streams& streams) {
  const int64_t budget = plan.target_length - plan.answer_tokens;
  const int64_t vocabulary_size = budget / 50;
  const int64_t step = budget / 32;
  if (vocabulary_size < 4) {
    throw DataError("frequent words: {} tokens are too few, expected at least {}",
                    plan.target_length, 200 + plan.answer_tokens);
  }
  const std::vector<std::string> probe = DrawCodedVocabulary(vocabulary_size, streams);
  int64_t size = budget / 6;
  while (count(MakeFrequentWords(probe, size).prompt) < budget) size += step;
  size -= step;
  std::vector<std::vector<std::string>> vocabularies;
  for (int64_t i = 0; i < samples; ++i) {
    vocabularies.push_back(DrawCodedVocabulary(vocabulary_size, streams));
  }
  std::vector<FittedSample> done(static_cast<size_t>(samples));
  core::ParallelFor(samples, 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::vector<std::string>& vocabulary = vocabularies[static_cast<size_t>(i)];
      FittedSample& fitted = done[static_cast<size_t>(i)];
      if (plan.shrink == Shrink::kBisect) {
        const auto at = [&](int64_t words) {
          return std::optional(MakeFrequentWords(vocabulary, words));
        };
        std::optional<FittedSample> best = FitOne(at, plan, std::max<int64_t>(size, 1), count);
        if (!best) throw NothingFits(plan);
        fitted = std::move(*best);
        continue;
      }
      for (int64_t used = size;; used -= step) {
        if (used < 1) throw NothingFits(plan);
        fitted.sample = MakeFrequentWords(vocabulary, used);
        fitted.length = count(fitted.sample.prompt) + plan.answer_tokens;
        if (fitted.length <= plan.target_length) break;
      }
    }
  });
  return done;
}

}  // namespace natsl::tasks::ruler
