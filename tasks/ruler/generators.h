// RULER's sample generators: one object a task family, which makes a sample of a given haystack
// size. Draws follow the reference's `current` vintage bit for bit (specs/ruler.md §6, §8-§12), so
// the order of calls matters: a generator's state is its random streams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/python_random.h"
#include "tasks/ruler/haystack.h"
#include "tasks/ruler/words.h"

namespace natsl::tasks::ruler {

struct Sample {
  std::string prompt;  ///< the whole prompt, answer prefix included
  std::vector<std::string> answers;
};

/// The two streams of the reference, both seeded with the task's seed.
struct Streams {
  explicit Streams(uint64_t seed) : python(seed), numpy(static_cast<uint32_t>(seed)) {}
  core::PythonRandom python;
  core::NumpyLegacyRandom numpy;
};

class Generator {
 public:
  virtual ~Generator() = default;
  /// A sample of haystack size `size`; nothing where that size is impossible (draws are consumed up
  /// to the point where the reference would have failed). `index`: the sample's number (QA).
  virtual std::optional<Sample> Make(int64_t size, int64_t index, Streams& streams) const = 0;
};

enum class Haystack { kNoise, kEssay, kNeedle };
enum class ItemKind { kWords, kNumbers, kUuids };

struct NiahConfig {
  Haystack haystack = Haystack::kNoise;
  ItemKind key = ItemKind::kWords;
  ItemKind value = ItemKind::kNumbers;
  int64_t keys = 1, values = 1, queries = 1;
};
/// `essay` may be null unless the haystack is one. Both must outlive the generator.
std::unique_ptr<Generator> MakeNiah(const NiahConfig& config, const Words& words,
                                    const Essay* essay);

/// Variable tracking. `example` comes in front of each sample, with fresh names and a fresh number;
/// empty: no example (the reference sizes samples without).
std::unique_ptr<Generator> MakeVariableTracking(std::string example);
/// The example itself: names of three letters, the number 12345.
std::unique_ptr<Generator> MakeVariableTrackingExample();

/// Common words; `target_length` picks the reference's frequencies (below 4096, and above).
std::unique_ptr<Generator> MakeCommonWords(const Words& words, int64_t target_length);

/// Frequent words of a coded text: a vocabulary of `words` (>= 4) coded words, rank 1 being "...",
/// and a text of nominally `size` words over it, by Zipf's law with exponent 2.
std::vector<std::string> DrawCodedVocabulary(int64_t words, Streams& streams);
Sample MakeFrequentWords(const std::vector<std::string>& vocabulary, int64_t size);

struct QaQuestion {
  std::string question;
  std::vector<std::string> answers;
  std::vector<int64_t> gold;  ///< indices into the documents
  std::vector<int64_t> more;  ///< preferred distractors
};
struct QaSet {
  std::vector<std::string> documents;  ///< sorted set
  std::vector<QaQuestion> questions;
};
/// `set` must outlive the generator.
std::unique_ptr<Generator> MakeQuestionAnswering(const QaSet& set);

}  // namespace natsl::tasks::ruler
