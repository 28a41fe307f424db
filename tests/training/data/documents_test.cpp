// Generated documents: layouts of the suite's tasks, what is learned, and that nothing of the
// evaluation is among them.
#include "training/data/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tasks/ruler/generators.h"
#include "tasks/synthetic/recall.h"
#include "training/data/evaluation_text.h"
#include "training/data/stream.h"

namespace natsl::training {
namespace {

using core::PythonRandom;

constexpr DocumentKind kAll[] = {DocumentKind::kNeedle, DocumentKind::kNeedles,
                                 DocumentKind::kRecall, DocumentKind::kPhonebook,
                                 DocumentKind::kStory};

uint64_t TrainSeed(int64_t row) { return StreamSeed(StreamDomain::kTraining, 1, 0, 0, row); }

std::string LineOf(const std::string& text, const std::string& start) {
  const size_t begin = text.find(start);
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}
std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}
std::string Between(const std::string& text, const std::string& left, const std::string& right) {
  const size_t begin = text.find(left) + left.size();
  return text.substr(begin, text.find(right, begin) - begin);
}

/// The niah_single_1 prompt of the suite, with our words.
std::string SuitePrompt(uint64_t seed) {
  const auto words = tasks::ruler::MakeWords({"table", "river", "stone"}, {"calm", "bold"}, {"go"});
  const auto niah = tasks::ruler::MakeNiah({}, words, nullptr);
  tasks::ruler::Streams streams(seed);
  return niah->Make(3, 0, streams)->prompt;
}

TEST(Documents, TheSameSeedGivesTheSameText) {
  for (const DocumentKind kind : kAll) {
    PythonRandom first(TrainSeed(1)), second(TrainSeed(1)), other(TrainSeed(2));
    const std::string text = TextOf(MakeDocument(kind, 9, first));
    EXPECT_EQ(text, TextOf(MakeDocument(kind, 9, second)));
    EXPECT_NE(text, TextOf(MakeDocument(kind, 9, other)));
  }
}

TEST(Documents, RecallHasTheLayoutOfTheTask) {
  PythonRandom random(7), again(7);
  const Document document = MakeDocument(DocumentKind::kRecall, 5, random);
  const auto recall = tasks::synthetic::MakeAssociativeRecall(5, 5, again);
  std::string expected = recall.pairs + "\n";
  for (size_t q = 0; q < 5; ++q) {
    expected += (q == 0 ? "" : " ") + recall.queries[q].key + " " + recall.queries[q].value;
  }
  EXPECT_EQ(TextOf(document), expected);
  EXPECT_FALSE(document[0].learn);
  EXPECT_EQ(document[2].text, " " + recall.queries[0].value);
  EXPECT_TRUE(document[2].learn);
}

TEST(Documents, PhonebookBeginsAsTheTaskAndGoesOn) {
  PythonRandom random(7), again(7);
  const std::string text = TextOf(MakeDocument(DocumentKind::kPhonebook, 6, random));
  const auto book = tasks::synthetic::MakePhonebook(6, again);
  EXPECT_TRUE(text.starts_with(book.prompt + " " + book.number + "\n")) << text;
  // 6 entries, an empty line, 3 look-ups of the task and 3 more.
  EXPECT_EQ(std::ranges::count(text, '\n'), 13);
}

TEST(Documents, NeedlesHaveTheWordingOfTheTask) {
  const std::string suite = SuitePrompt(3);
  PythonRandom random(TrainSeed(5));
  const std::string ours = TextOf(MakeDocument(DocumentKind::kNeedle, 3, random));
  EXPECT_EQ(LineOf(ours, "A special"), LineOf(suite, "A special"));
  EXPECT_EQ(LineOf(ours, "The grass"), LineOf(suite, "The grass"));
  const std::string needle = "One of the special magic numbers for ";
  const auto normal = [&](const std::string& text, const std::string& line) {
    const std::string asked = Between(text, "The special magic number for ", " mentioned");
    return Replace(line, asked, "KEY");
  };
  const std::string question = "What is the special";
  const std::string suite_line = normal(suite, LineOf(suite, question));
  EXPECT_TRUE(normal(ours, LineOf(ours, question)).starts_with(suite_line + " ")) << ours;
  const auto blank = [&](const std::string& text) {
    const std::string line = LineOf(text, needle);
    return Replace(Replace(line, Between(line, needle, " is:"), "KEY"), Between(line, "is: ", "."),
                   "1");
  };
  EXPECT_EQ(blank(ours), blank(suite));
}

TEST(Documents, OnlyAnswersAreLearnedOutsideOfStories) {
  for (const DocumentKind kind : kAll) {
    PythonRandom random(TrainSeed(3));
    const Document document = MakeDocument(kind, 8, random);
    bool answers = false;
    for (const Part& part : document) {
      if (kind == DocumentKind::kStory) {
        EXPECT_TRUE(part.learn);
      } else if (part.learn) {
        EXPECT_THAT(part.text, testing::MatchesRegex("[ 0-9.\n-]+"));
      }
      answers |= part.learn;
    }
    EXPECT_TRUE(answers);
    EXPECT_FALSE(document.front().learn && kind != DocumentKind::kStory);
  }
}

TEST(Streams, SeedsLieBeyondThoseOfTasksAndDiffer) {
  std::set<uint64_t> seeds;
  int64_t count = 0;
  for (const StreamDomain domain :
       {StreamDomain::kTraining, StreamDomain::kEvaluation, StreamDomain::kTokenizer}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      for (int64_t rank = 0; rank < 3; ++rank) {
        for (int64_t step = 0; step < 8; ++step) {
          for (int64_t row = 0; row < 8; ++row, ++count) {
            const uint64_t value = StreamSeed(domain, seed, rank, step, row);
            EXPECT_GE(value, uint64_t{1} << 63);
            seeds.insert(value);
          }
        }
      }
    }
  }
  EXPECT_EQ(static_cast<int64_t>(seeds.size()), count);
}

// The evaluation's examples of every task that the trained models are asked (the suite's seeds),
// and a few thousand training documents of the same sizes: no example comes again.
TEST(Disjoint, NoEvaluationExampleIsTrainedOn) {
  constexpr int64_t kTrained = 3000;
  std::set<std::string> books, lists, needles, stories;
  for (const uint64_t seed : {0, 1, 42, 1234}) {
    PythonRandom random(seed), more(seed);
    tasks::ruler::Streams streams(seed);
    const auto words =
        tasks::ruler::MakeWords({"table", "river", "stone"}, {"calm", "bold"}, {"go"});
    const auto niah = tasks::ruler::MakeNiah({}, words, nullptr);
    for (int i = 0; i < 200; ++i) {
      lists.insert(tasks::synthetic::MakeAssociativeRecall(4, 4, random).pairs);
      const std::string prompt = tasks::synthetic::MakePhonebook(4, more).prompt;
      books.insert(prompt.substr(0, prompt.find("\n\n")));
      const auto sample = niah->Make(3, i, streams);
      needles.insert(LineOf(sample->prompt, "One of the special magic numbers"));
    }
    const std::string text = EvaluationText({.stories = 200, .seed = seed});
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      stories.insert(text.substr(begin, text.find('\n', begin) - begin));
    }
  }
  ASSERT_EQ(lists.size(), 800u);
  ASSERT_EQ(stories.size(), 800u);
  int64_t met = 0;
  for (int64_t i = 0; i < kTrained; ++i) {
    PythonRandom random(TrainSeed(i));
    const std::string list = TextOf(MakeDocument(DocumentKind::kRecall, 4, random));
    const std::string book = TextOf(MakeDocument(DocumentKind::kPhonebook, 4, random));
    const std::string needle = TextOf(MakeDocument(DocumentKind::kNeedle, 2, random));
    met += lists.contains(list.substr(0, list.find('\n')));
    met += books.contains(book.substr(0, book.find("\n\n")));
    met += needles.contains(LineOf(needle, "One of the special magic numbers"));
    met += stories.contains(MakeStory(random.RandInt(6, 16), random));
  }
  EXPECT_EQ(met, 0);
}

}  // namespace
}  // namespace natsl::training
