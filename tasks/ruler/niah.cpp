// RULER's needle-in-a-haystack samples (specs/ruler.md §4, §8).
#include <algorithm>

#include "core/cast.h"
#include "core/utf8.h"
#include "tasks/ruler/generators.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

constexpr int kDepths[] = {0,  3,  5,  8,  10, 13, 15, 18, 21, 23, 26, 28, 31, 33,
                           36, 38, 41, 44, 46, 49, 51, 54, 56, 59, 62, 64, 67, 69,
                           72, 74, 77, 79, 82, 85, 87, 90, 92, 95, 97, 100};

const char* Plural(ItemKind kind) {
  switch (kind) {
    case ItemKind::kWords:
      return "words";
    case ItemKind::kNumbers:
      return "numbers";
    case ItemKind::kUuids:
      return "uuids";
  }
  return "";
}

class Niah final : public Generator {
 public:
  Niah(const NiahConfig& config, const Words& words, const Essay* essay)
      : config_(config), words_(words), essay_(essay) {
    config_.keys = std::max(config.keys, config.queries);
  }

  std::optional<Sample> Make(int64_t size, int64_t /*index*/, Streams& streams) const override {
    core::PythonRandom& random = streams.python;
    std::vector<std::string> keys, needles;
    std::vector<std::vector<std::string>> values;
    for (int64_t k = 0; k < config_.keys; ++k) {
      keys.push_back(Draw(config_.key, random));
      values.emplace_back();
      for (int64_t v = 0; v < config_.values; ++v) {
        values.back().push_back(Draw(config_.value, random));
        needles.push_back(Needle(keys.back(), values.back().back()));
      }
    }
    core::PythonRandom(42).Shuffle(needles);
    std::optional<std::string> context = config_.haystack == Haystack::kEssay
                                             ? EssayContext(size, needles, random)
                                             : LineContext(size, needles, random);
    if (!context) return std::nullopt;

    Sample sample;
    std::vector<std::string> queries;
    for (const int64_t q : random.Sample(config_.keys, config_.queries)) {
      queries.push_back(keys[static_cast<size_t>(q)]);
      for (const std::string& value : values[static_cast<size_t>(q)]) {
        sample.answers.push_back(value);
      }
    }
    sample.prompt = Fill(*context, QueryText(queries));
    return sample;
  }

 private:
  std::string Draw(ItemKind kind, core::PythonRandom& random) const {
    switch (kind) {
      case ItemKind::kWords:
        return words_.keys.At(random.RandBelow(words_.keys.size()));
      case ItemKind::kNumbers:
        return fmt::format("{}", random.RandInt(1000000, 9999999));
      case ItemKind::kUuids:
        return random.Uuid4();
    }
    return "";
  }

  std::string Needle(const std::string& key, const std::string& value) const {
    return fmt::format("One of the special magic {} for {} is: {}.", Plural(config_.value), key,
                       value);
  }

  std::optional<std::string> LineContext(int64_t size, const std::vector<std::string>& needles,
                                         core::PythonRandom& random) const {
    std::vector<std::string> lines;
    for (int64_t i = 0; i < size; ++i) {
      if (config_.haystack == Haystack::kNoise) {
        lines.emplace_back(kNoiseLine);
      } else {
        const std::string key = Draw(config_.key, random);
        lines.push_back(Needle(key, Draw(config_.value, random)));
      }
    }
    if (size < core::Size(needles)) return std::nullopt;
    std::vector<int64_t> places = random.Sample(size, core::Size(needles));
    std::sort(places.begin(), places.end(), std::greater<>());
    for (size_t i = 0; i < needles.size(); ++i) {
      lines.insert(lines.begin() + places[i], needles[i]);
    }
    return Join(lines, "\n");
  }

  std::optional<std::string> EssayContext(int64_t size, const std::vector<std::string>& needles,
                                          core::PythonRandom& random) const {
    std::string text;
    for (int64_t i = 0; i < size; ++i) {
      if (i > 0) text += ' ';
      text += essay_->words[static_cast<size_t>(i) % essay_->words.size()];
    }
    const std::vector<std::string> sentences = SplitSentences(core::PythonStrip(text));
    std::vector<int64_t> places;
    for (const int64_t d : random.Sample(std::ssize(kDepths), core::Size(needles))) {
      places.push_back(
          static_cast<int64_t>(static_cast<double>(sentences.size()) * (kDepths[d] / 100.0)));
    }
    std::sort(places.begin(), places.end());
    std::vector<std::string> pieces;
    int64_t from = 0;
    for (size_t i = 0; i <= needles.size(); ++i) {
      const int64_t to = i < needles.size() ? places[i] : core::Size(sentences);
      pieces.push_back(Join({sentences.begin() + from, sentences.begin() + to}, " "));
      if (i < needles.size()) pieces.push_back(needles[i]);
      from = to;
    }
    return Join(pieces, " ");
  }

  static std::string QueryText(const std::vector<std::string>& queries) {
    if (queries.size() == 1) return queries[0];
    return Join({queries.begin(), queries.end() - 1}, ", ") + ", and " + queries.back();
  }

  std::string Fill(const std::string& context, const std::string& query) const {
    const std::string type = Plural(config_.value);
    if (config_.queries * config_.values == 1) {
      const std::string one = type.substr(0, type.size() - 1);
      return fmt::format(
          "A special magic {0} is hidden within the following text. Make sure to memorize it. I "
          "will quiz you about the {0} afterwards.\n{1}\nWhat is the special magic {0} for {2} "
          "mentioned in the provided text? The special magic {0} for {2} mentioned in the provided "
          "text is",
          one, context, query);
    }
    return fmt::format(
        "Some special magic {0} are hidden within the following text. Make sure to memorize it. I "
        "will quiz you about the {0} afterwards.\n{1}\nWhat are all the special magic {0} for {2} "
        "mentioned in the provided text? The special magic {0} for {2} mentioned in the provided "
        "text are",
        type, context, query);
  }

  NiahConfig config_;
  const Words& words_;
  const Essay* essay_;
};

}  // namespace

std::unique_ptr<Generator> MakeNiah(const NiahConfig& config, const Words& words,
                                    const Essay* essay) {
  return std::make_unique<Niah>(config, words, essay);
}

}  // namespace natsl::tasks::ruler
