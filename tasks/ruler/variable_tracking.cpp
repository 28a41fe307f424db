// RULER's variable tracking samples: one chain of four hops (specs/ruler.md §4, §9).
#include <algorithm>

#include "core/cast.h"
#include "tasks/ruler/generators.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

constexpr int64_t kNames = 5;
constexpr std::string_view kExampleNumber = "12345";

class VariableTracking final : public Generator {
 public:
  VariableTracking(bool is_example, std::string example)
      : is_example_(is_example), example_(std::move(example)) {}

  std::optional<Sample> Make(int64_t size, int64_t /*index*/, Streams& streams) const override {
    std::vector<std::string> names = RandomNames('A', is_example_ ? 3 : 5, kNames, streams.python);
    names.resize(kNames);
    const std::string number = is_example_ ? std::string(kExampleNumber) : DrawNumber(streams);
    std::vector<std::string> lines(static_cast<size_t>(size), std::string(kNoiseLine));
    if (size < kNames) return std::nullopt;
    std::vector<int64_t> places = streams.python.Sample(size, kNames);
    std::sort(places.begin(), places.end());
    for (size_t j = 0; j < kNames; ++j) {
      std::string line = j == 0 ? fmt::format("VAR {} = {}", names[0], number)
                                : fmt::format("VAR {} = VAR {} ", names[j], names[j - 1]);
      lines.insert(lines.begin() + places[j] + static_cast<int64_t>(j), std::move(line));
    }
    std::string context = Join(lines, "\n");
    ReplaceAll(context, ". \n", ".\n");
    Sample sample;
    sample.prompt = fmt::format(
        "Memorize and track the chain(s) of variable assignment hidden in the following "
        "text.\n\n{0}\nQuestion: Find all variables that are assigned the value {1} in the text "
        "above. Answer: According to the chain(s) of variable assignment in the text above, {2} "
        "variables are assigned the value {1}, they are: ",
        context, number, kNames);
    if (!example_.empty()) sample.prompt = RenamedExample(streams) + "\n" + sample.prompt;
    sample.answers = std::move(names);
    return sample;
  }

 private:
  static std::string DrawNumber(Streams& streams) {
    return fmt::format("{}", streams.numpy.RandInt(10000, 99999));
  }

  /// The example with new names (its last five words) and a new number.
  std::string RenamedExample(Streams& streams) const {
    std::vector<std::string> words = EssayWords(example_);
    while (!words.empty() && words.back().empty()) words.pop_back();
    std::string renamed = example_;
    for (size_t i = words.size() - kNames; i < words.size(); ++i) {
      ReplaceAll(renamed, words[i], RandomLetters('A', core::Size(words[i]), streams.python));
    }
    ReplaceAll(renamed, kExampleNumber, DrawNumber(streams));
    return renamed;
  }

  bool is_example_;
  std::string example_;
};

}  // namespace

std::unique_ptr<Generator> MakeVariableTracking(std::string example) {
  return std::make_unique<VariableTracking>(false, std::move(example));
}

std::unique_ptr<Generator> MakeVariableTrackingExample() {
  return std::make_unique<VariableTracking>(true, "");
}

}  // namespace natsl::tasks::ruler
