// RULER's aggregation samples: common words and frequent words (specs/ruler.md §4, §10, §11).
#include <algorithm>
#include <cmath>
#include <set>

#include "core/cast.h"
#include "tasks/ruler/generators.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

constexpr int64_t kCommon = 10;

class CommonWords final : public Generator {
 public:
  CommonWords(const Words& words, int64_t target_length)
      : words_(words), long_form_(target_length >= 4096) {
    if (target_length <= kLongest) return;
    // Near 128k tokens the list runs out. The reference then takes another list, which can't be
    // shipped; here pairs of the same words are added.
    for (const int64_t key :
         core::PythonRandom(42).Sample(words.keys.size(), std::min(kMore, words.keys.size()))) {
      more_.push_back(words.keys.At(key));
    }
  }

  std::optional<Sample> Make(int64_t size, int64_t /*index*/, Streams& streams) const override {
    std::vector<std::string> example_answers, answers;
    const auto example = long_form_ ? List(40, 10, 3, streams, example_answers)
                                    : List(20, 3, 1, streams, example_answers);
    const auto real =
        long_form_ ? List(size, 30, 3, streams, answers) : List(size, 6, 1, streams, answers);
    if (!example || !real) return std::nullopt;
    Sample sample;
    sample.prompt = Question(*example) + " " + Numbered(example_answers) + "\n" + Question(*real);
    sample.answers = std::move(answers);
    return sample;
  }

 private:
  static std::string Question(const std::string& context) {
    return fmt::format(
        "Below is a numbered list of words. In these words, some appear more often than others. "
        "Memorize the ones that appear most often.\n{}\nQuestion: What are the 10 most common "
        "words in the above list? Answer: The top 10 words that appear most often in the list are:",
        context);
  }

  std::optional<std::string> List(int64_t distinct, int64_t common_repeats, int64_t other_repeats,
                                  Streams& streams, std::vector<std::string>& answers) const {
    const int64_t listed = core::Size(words_.common), extra = distinct - listed;
    if (extra > core::Size(more_) || distinct < kCommon) return std::nullopt;
    std::vector<const std::string*> chosen;
    for (const int64_t i : streams.python.Sample(listed, std::min(distinct, listed))) {
      chosen.push_back(&words_.common[static_cast<size_t>(i)]);
    }
    if (extra > 0) {
      for (const int64_t i : streams.python.Sample(core::Size(more_), extra)) {
        chosen.push_back(&more_[static_cast<size_t>(i)]);
      }
    }
    std::vector<std::string> list;
    const auto repeat = [&](int64_t from, int64_t to, int64_t times) {
      for (int64_t r = 0; r < times; ++r) {
        for (int64_t i = from; i < to; ++i) list.push_back(*chosen[static_cast<size_t>(i)]);
      }
    };
    repeat(0, kCommon, common_repeats);
    answers.assign(list.begin(), list.begin() + kCommon);
    repeat(kCommon, distinct, other_repeats);
    core::PythonRandom(42).Shuffle(list);
    return Numbered(list);
  }

  static constexpr int64_t kLongest = 65536;  ///< tokens that the list is long enough for
  static constexpr int64_t kMore = 20000;

  const Words& words_;
  bool long_form_;
  std::vector<std::string> more_;  ///< empty: not needed at this length
};

}  // namespace

std::unique_ptr<Generator> MakeCommonWords(const Words& words, int64_t target_length) {
  return std::make_unique<CommonWords>(words, target_length);
}

std::vector<std::string> DrawCodedVocabulary(int64_t words, Streams& streams) {
  const std::vector<std::string> drawn = RandomNames('a', 6, words, streams.python);
  const std::set<std::string> distinct(drawn.begin(), drawn.end());
  std::vector<std::string> vocabulary(distinct.begin(), distinct.end());
  core::PythonRandom(42).Shuffle(vocabulary);
  vocabulary[0] = "...";
  return vocabulary;
}

Sample MakeFrequentWords(const std::vector<std::string>& vocabulary, int64_t size) {
  constexpr double kZeta2 = 1.6449340668482264;
  std::vector<std::string> text;
  for (size_t rank = 1; rank <= vocabulary.size(); ++rank) {
    const double share = static_cast<double>(size) * std::pow(static_cast<double>(rank), -2.0);
    text.insert(text.end(), static_cast<size_t>(share / kZeta2), vocabulary[rank - 1]);
  }
  core::PythonRandom(42).Shuffle(text);
  Sample sample;
  sample.prompt = fmt::format(
      "Read the following coded text and track the frequency of each coded word. Find the three "
      "most frequently appeared coded words. {}\nQuestion: Do not provide any explanation. Please "
      "ignore the dots '....'. What are the three most frequently appeared words in the above "
      "coded text? Answer: According to the coded text above, the three most frequently appeared "
      "words are:",
      Join(text, " "));
  sample.answers.assign(vocabulary.begin() + 1, vocabulary.begin() + 4);
  return sample;
}

}  // namespace natsl::tasks::ruler
