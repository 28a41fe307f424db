// Length fitting of RULER.
#include "tasks/ruler/fitting.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/cast.h"
#include "core/threads.h"

namespace natsl::tasks::ruler {
namespace {

/// Length of a sample with its answer; nothing where it can't be made.
std::optional<int64_t> Length(const std::optional<Sample>& sample, const FittingPlan& plan,
                              const TokenCounter& count) {
  if (!sample) return std::nullopt;
  return count(sample->prompt) + plan.answer_tokens;
}

/// One sample that is known not to fit at `size`: shrinks it as the plan says.
FittedSample Shrunk(const Generator& generator, const FittingPlan& plan, int64_t size,
                    int64_t index, const TokenCounter& count, Streams& streams) {
  if (plan.shrink == Shrink::kReference) {
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
  } else {
    // Every probe starts from the same draws, so that sizes are of one and the same sample.
    const Streams start = streams;
    int64_t low = 1, high = size - 1;
    std::optional<FittedSample> best;
    Streams best_streams = start;
    while (low <= high) {
      const int64_t middle = low + (high - low) / 2;
      Streams attempt = start;
      std::optional<Sample> sample = generator.Make(middle, index, attempt);
      const std::optional<int64_t> length = Length(sample, plan, count);
      if (!length) {
        low = middle + 1;  // too small a haystack for its needles
      } else if (*length <= plan.target_length) {
        best = FittedSample{std::move(*sample), *length};
        best_streams = attempt;
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    if (best) {
      streams = best_streams;
      return std::move(*best);
    }
  }
  throw DataError(
      "no sample fits in {} tokens with {} for the answer; the shortest haystack is longer: choose "
      "a larger length",
      plan.target_length, plan.answer_tokens);
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
      done.push_back(
          Shrunk(generator, plan, size, first + static_cast<int64_t>(i), count, streams));
      break;
    }
  }
  return done;
}

std::vector<FittedSample> MakeFrequentWordSamples(int64_t target_length, int64_t answer_tokens,
                                                  int64_t samples, const TokenCounter& count,
                                                  Streams& streams) {
  const int64_t budget = target_length - answer_tokens;
  const int64_t vocabulary_size = budget / 50;
  const int64_t step = budget / 32;
  if (vocabulary_size < 4) {
    throw DataError("frequent words: {} tokens are too few, expected at least {}", target_length,
                    200 + answer_tokens);
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
      FittedSample& fitted = done[static_cast<size_t>(i)];
      for (int64_t used = size;; used -= step) {
        if (used < 1) throw DataError("frequent words: no text fits in {} tokens", target_length);
        fitted.sample = MakeFrequentWords(vocabularies[static_cast<size_t>(i)], used);
        fitted.length = count(fitted.sample.prompt) + answer_tokens;
        if (fitted.length <= target_length) break;
      }
    }
  });
  return done;
}

}  // namespace natsl::tasks::ruler
