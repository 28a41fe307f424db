// RULER's question answering samples over documents (specs/ruler.md §4, §12).
#include <algorithm>

#include "core/cast.h"
#include "tasks/ruler/generators.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

class QuestionAnswering final : public Generator {
 public:
  explicit QuestionAnswering(const QaSet& set) : set_(set) {}

  std::optional<Sample> Make(int64_t size, int64_t index, Streams& streams) const override {
    if (index >= core::Size(set_.questions)) return std::nullopt;
    const QaQuestion& question = set_.questions[static_cast<size_t>(index)];
    const int64_t all = core::Size(set_.documents);
    const int64_t wanted = size - core::Size(question.gold);
    std::vector<int64_t> chosen;
    if (size < all) {
      if (wanted < 0) return std::nullopt;
      chosen = question.gold;
      if (wanted > core::Size(question.more)) {
        chosen.insert(chosen.end(), question.more.begin(), question.more.end());
        std::vector<int64_t> sorted = chosen;
        std::sort(sorted.begin(), sorted.end());
        std::vector<int64_t> others;
        for (int64_t i = 0; i < all; ++i) {
          if (!std::binary_search(sorted.begin(), sorted.end(), i)) others.push_back(i);
        }
        const int64_t rest = wanted - core::Size(question.more);
        for (const int64_t i : streams.python.Sample(core::Size(others), rest)) {
          chosen.push_back(others[static_cast<size_t>(i)]);
        }
      } else {
        for (const int64_t i : streams.python.Sample(core::Size(question.more), wanted)) {
          chosen.push_back(question.more[static_cast<size_t>(i)]);
        }
      }
    } else {
      for (int64_t i = 0; i < size; ++i) chosen.push_back(i % all);
    }
    core::PythonRandom(42).Shuffle(chosen);
    std::string context;
    for (size_t i = 0; i < chosen.size(); ++i) {
      context += fmt::format("{}Document {}:\n{}", i == 0 ? "" : "\n\n", i + 1,
                             set_.documents[static_cast<size_t>(chosen[i])]);
    }
    Sample sample;
    sample.prompt = fmt::format(
        "Answer the question based on the given documents. Only give me the answer and do not "
        "output any other words.\n\nThe following are given documents.\n\n{}\n\nAnswer the "
        "question based on the given documents. Only give me the answer and do not output any "
        "other words.\n\nQuestion: {} Answer:",
        context, question.question);
    sample.answers = question.answers;
    return sample;
  }

 private:
  const QaSet& set_;
};

}  // namespace

std::unique_ptr<Generator> MakeQuestionAnswering(const QaSet& set) {
  return std::make_unique<QuestionAnswering>(set);
}

}  // namespace natsl::tasks::ruler
