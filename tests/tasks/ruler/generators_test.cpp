// Samples against vectors of the reference scripts (NVIDIA RULER, `current` vintage, seed 42), made
// with a mock tokenizer that anyone can write down.
#include "tasks/ruler/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/cache.h"
#include "core/cast.h"
#include "core/hash.h"
#include "core/utf8.h"
#include "tasks/ruler/fitting.h"
#include "tasks/ruler/text.h"

namespace natsl::tasks::ruler {
namespace {

using ::testing::ElementsAre;

/// Maximal runs of ASCII letters, single ASCII digits, single other code points; no white space.
int64_t MockTokens(const std::string& text) {
  int64_t count = 0;
  bool in_word = false;
  for (size_t position = 0; position < text.size();) {
    const char32_t c = core::NextCodePoint(text, position);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter) {
      count += !in_word;
    } else if (!core::IsPythonSpace(c)) {
      ++count;
    }
    in_word = letter;
  }
  return count;
}

Essay MockEssay() {
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    text += fmt::format("{}Line {} of the filler text says that item {} is stored on shelf {}.",
                        i == 0 ? "" : " ", i, i * 37 % 1000, i % 17);
  }
  return {EssayWords(text), core::Sha256Hex(text), "mock"};
}

QaSet MockSquad() {
  QaSet set;
  std::vector<std::pair<std::string, int64_t>> paragraphs;
  for (int i = 0; i < 60; ++i) {
    paragraphs.emplace_back(
        fmt::format("Paragraph {0}. The town of X{0} has {1} bridges and a mill, built in {2}.", i,
                    7 * i % 101, 1800 + i),
        i);
  }
  std::sort(paragraphs.begin(), paragraphs.end());
  std::vector<int64_t> place(60);
  for (size_t p = 0; p < paragraphs.size(); ++p) {
    set.documents.push_back(paragraphs[p].first);
    place[static_cast<size_t>(paragraphs[p].second)] = static_cast<int64_t>(p);
  }
  for (int i = 0; i < 60; ++i) {
    if (i % 6 == 2) continue;
    QaQuestion question;
    question.question = fmt::format("How many bridges in X{}?", i);
    question.answers = {fmt::format("{}", 7 * i % 101), fmt::format("{} bridges", 7 * i % 101)};
    question.gold = {place[static_cast<size_t>(i)]};
    for (int j = i / 6 * 6; j < i / 6 * 6 + 6; ++j) {
      if (j != i) question.more.push_back(place[static_cast<size_t>(j)]);
    }
    set.questions.push_back(std::move(question));
  }
  return set;
}

std::string Digest(const std::vector<FittedSample>& samples) {
  std::string text;
  for (size_t i = 0; i < samples.size(); ++i) {
    text += fmt::format("{}{}\x1f{}", i == 0 ? "" : "\n", samples[i].sample.prompt,
                        Join(samples[i].sample.answers, "|"));
  }
  return core::Sha256Hex(text).substr(0, 32);
}

struct Vector {
  const char* task;
  int64_t length;
  int64_t size;
  std::vector<int64_t> lengths;
  const char* first_answers;
  const char* sha;
};

class RulerVectors : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = core::UserCacheFolder() / "wonderwords-2.2.0";
    if (!std::filesystem::exists(folder / "nounlist.txt")) {
      GTEST_SKIP() << "RulerVectors needs the word lists that scripts/setup fetches into "
                   << folder;
    }
    words_ = std::make_unique<Words>(LoadWords(folder));
    essay_ = MockEssay();
    squad_ = MockSquad();
  }

  std::unique_ptr<Generator> MakeGenerator(const std::string& task, int64_t length,
                                           FittingPlan& plan, bool in_samples) {
    const auto niah = [&](NiahConfig config) {
      plan.increment = config.haystack == Haystack::kEssay ? 500 : length < 4096 ? 5 : 25;
      plan.least_upper = 2 * plan.increment;
      plan.answer_tokens = 128;
      return MakeNiah(config, *words_, &essay_);
    };
    using enum Haystack;
    using enum ItemKind;
    if (task == "niah_single_1") return niah({kNoise, kWords, kNumbers, 1, 1, 1});
    if (task == "niah_single_2") return niah({kEssay, kWords, kNumbers, 1, 1, 1});
    if (task == "niah_single_3") return niah({kEssay, kWords, kUuids, 1, 1, 1});
    if (task == "niah_multikey_1") return niah({kEssay, kWords, kNumbers, 4, 1, 1});
    if (task == "niah_multikey_2") return niah({kNeedle, kWords, kNumbers, 1, 1, 1});
    if (task == "niah_multikey_3") return niah({kNeedle, kUuids, kUuids, 1, 1, 1});
    if (task == "niah_multivalue") return niah({kEssay, kWords, kNumbers, 1, 4, 1});
    if (task == "niah_multiquery") return niah({kEssay, kWords, kNumbers, 1, 1, 4});
    if (task == "vt") {
      plan.increment = length < 4096 ? 5 : 10;
      plan.least_upper = 2 * plan.increment;
      plan.answer_tokens = 30;
      plan.example_tokens = MockTokens(example_);
      return MakeVariableTracking(in_samples ? example_ : "");
    }
    if (task == "cwe") {
      plan.increment = 10;
      plan.probe = 4096;
      plan.upper_factor = 2;
      plan.floor_before_factor = true;
      plan.least_upper = 20;
      plan.answer_tokens = 120;
      return MakeCommonWords(*words_, length);
    }
    plan.increment = 10;
    plan.least_upper = 20;
    plan.answer_tokens = 32;
    return MakeQuestionAnswering(squad_);
  }

  /// The example of variable tracking, drawn before anything else.
  void DrawExample(Streams& streams) {
    const auto generator = MakeVariableTrackingExample();
    FittingPlan plan;
    plan.target_length = 500;
    plan.increment = 5;
    plan.least_upper = 10;
    const int64_t size = FindSize(*generator, plan, MockTokens, streams);
    const auto made = MakeSamples(*generator, plan, size, 1, MockTokens, streams);
    example_ = made[0].sample.prompt + " " + Join(made[0].sample.answers, " ") + "\n";
  }

  std::string example_;
  std::unique_ptr<Words> words_;
  Essay essay_;
  QaSet squad_;
};

const std::vector<Vector> kVectors = {
    {"niah_single_1",
     1024,
     34,
     {1020, 1020, 1020, 1020, 1020},
     "4612365",
     "e09d1e03f34d5ea322c026b9eb104d04"},
    {"niah_single_2",
     1024,
     649,
     {1024, 1024, 1024, 1024, 1024},
     "2322047",
     "64d43f4ef79de2366451c78d1e714b9a"},
    {"niah_single_3",
     1024,
     631,
     {1019, 1023, 381, 1024, 383},
     "baa80dd4-88bd-4407-abcf-be01a28defe3",
     "2fdf2b08cb2d734633287b9b65f0214c"},
    {"niah_multikey_1",
     1024,
     601,
     {1023, 1023, 381, 1023, 1023},
     "9897858",
     "1ee3997ec3bb1059f81574f3139445c0"},
    {"niah_multikey_2",
     1024,
     41,
     {927, 1024, 925, 926, 926},
     "4344717",
     "d62f294a701d7bb3a1cb6e8dfb79ee68"},
    {"niah_multikey_3",
     1024,
     9,
     {985, 968, 984, 998, 1000},
     "369147eb-89a2-488b-92c1-36e019985f15",
     "8c52f60fdbc8943dc2165441047ab932"},
    {"niah_multivalue",
     1024,
     601,
     {1024, 1024, 1024, 1024, 1024},
     "3564251 3684052 8082668 2065818",
     "98fb0588f3b32f37662113dcbe5d749e"},
    {"niah_multiquery",
     1024,
     579,
     {1021, 1021, 381, 1021, 1021},
     "2191066 2130789 1987737 4694634",
     "86fcad2813887e3f411166d8e2a07f3a"},
    {"vt",
     1024,
     17,
     {1021, 1021, 1021, 1021, 1021},
     "CWWFV LHUFA FIWZH QKZNY CZEZG",
     "07baace973e0bd7e01a61cf308379427"},
    {"cwe",
     1024,
     92,
     {1020, 1020, 1024, 1021, 1022},
     "stupid occupation gainful consider ship scrip complication cursor press lifestyle",
     "92f616250d1ed6a9dacfaae9b94002c4"},
    {"qa_1",
     1024,
     33,
     {1021, 1020, 1023, 1019, 1020},
     "0 0 bridges",
     "cdd0a610ffb275086851351e7778b77f"},
    {"niah_single_1",
     4096,
     162,
     {4092, 4092, 4092, 4092, 4092},
     "5437923",
     "bd77c6db560f6044427afcf2e3dceb33"},
    {"niah_single_3",
     4096,
     2940,
     {3421, 4096, 3423, 3422, 3420},
     "448aaa9e-66b2-4c5b-90c1-87fcce177b4e",
     "28f9893d7ecddd78bfab22ee4dda7b8d"},
    {"niah_multikey_2",
     4096,
     194,
     {3590, 4093, 4093, 4094, 3587},
     "6960666",
     "05f1b4df3bc857306c57cae5f546ad38"},
    {"niah_multivalue",
     4096,
     2911,
     {4095, 4095, 4095, 4095, 3419},
     "5418934 9398441 3997281 9517485",
     "b747d096c063d50bed1c501968857226"},
    {"niah_multiquery",
     4096,
     2892,
     {3419, 4096, 4096, 4096, 3419},
     "2642635 4965789 8434500 1247595",
     "d42056ed2c487538d199aac17a8d63ca"},
    {"vt",
     4096,
     145,
     {4093, 4093, 4093, 4093, 4093},
     "KDRXW XUFUS MOXDD MNOIT LVXLX",
     "ab145dd247fc26f28b79ece562ab30e2"},
    {"cwe",
     4096,
     112,
     {4037, 4091, 4043, 4037, 4049},
     "altar meaning elegant eaves steam profession scimitar sweatshop pants shoe",
     "831fb4954a7b80f6a3e2e1e64c5c2868"},
    {"qa_1",
     4096,
     139,
     {4090, 4090, 4090, 4090, 4090},
     "0 0 bridges",
     "5e3eeb57606ee9330efc668752f34a5f"},
};

TEST_F(RulerVectors, SizesLengthsAndBytes) {
  for (const Vector& expected : kVectors) {
    SCOPED_TRACE(fmt::format("{} at {}", expected.task, expected.length));
    Streams streams(42);
    FittingPlan plan;
    plan.target_length = expected.length;
    if (expected.task == std::string("vt")) DrawExample(streams);
    const auto probe = MakeGenerator(expected.task, expected.length, plan, false);
    const int64_t size = FindSize(*probe, plan, MockTokens, streams);
    EXPECT_EQ(size, expected.size);
    const auto generator = MakeGenerator(expected.task, expected.length, plan, true);
    const auto samples = MakeSamples(*generator, plan, size, 5, MockTokens, streams);
    std::vector<int64_t> lengths;
    for (const FittedSample& sample : samples) lengths.push_back(sample.length);
    EXPECT_EQ(lengths, expected.lengths);
    EXPECT_EQ(Join(samples[0].sample.answers, " "), expected.first_answers);
    EXPECT_EQ(Digest(samples), expected.sha);
  }
}

TEST_F(RulerVectors, FrequentWords) {
  Streams streams(42);
  FittingPlan plan;
  plan.target_length = 1024;
  plan.answer_tokens = 50;
  auto samples = MakeFrequentWordSamples(plan, 5, MockTokens, streams);
  EXPECT_EQ(samples[0].length, 991);
  EXPECT_THAT(samples[0].sample.answers, ElementsAre("uecllm", "gylwob", "otbpnw"));
  EXPECT_EQ(Digest(samples), "04c7d5dbc99832303a57570a11ede1a3");
  Streams again(42);
  plan.target_length = 4096;
  samples = MakeFrequentWordSamples(plan, 5, MockTokens, again);
  EXPECT_THAT(samples[0].sample.answers, ElementsAre("ufnllw", "iwshay", "rhbtmq"));
  EXPECT_EQ(Digest(samples), "27c530b11c88e1ddab9eccc97bd904b2");
}

TEST_F(RulerVectors, WordLists) {
  EXPECT_EQ(words_->keys.size(), 6175260);
  EXPECT_EQ(words_->keys.At(0), "Early-ATM");
  EXPECT_EQ(words_->keys.At(6175259), "zonked-zucchini");
  EXPECT_EQ(words_->keys.At(5363900), "tenuous-hospice");
  EXPECT_EQ(words_->common.size(), 8169u);
  EXPECT_EQ(core::Sha256Hex(Join(words_->common, "\n")),
            "08a2552db7ee26dc105a1e295839b928d7c27342b2008cde0380e58e0d25ebb5");
  core::Sha256 hash;
  for (int64_t i = 0; i < words_->keys.size(); ++i) {
    if (i > 0) hash.Update("\n");
    hash.Update(words_->keys.At(i));
  }
  EXPECT_EQ(hash.Hex(), "020e4aab7091c71c01b31963463e27eb17631adf2926129d50b3613496a4b41a");
}

TEST_F(RulerVectors, BisectionReachesTheTarget) {
  Streams streams(42);
  FittingPlan plan;
  plan.target_length = 1024;
  const auto generator = MakeGenerator("niah_single_3", 1024, plan, true);
  plan.shrink = Shrink::kBisect;
  const int64_t size = FindSize(*generator, plan, MockTokens, streams);
  for (const FittedSample& sample : MakeSamples(*generator, plan, size, 20, MockTokens, streams)) {
    EXPECT_LE(sample.length, 1024);
    EXPECT_GE(sample.length, 973);
    EXPECT_EQ(sample.length, MockTokens(sample.sample.prompt) + 128);
  }
}

TEST(WordKeys, InterleavingAdjectivesAreMerged) {
  const WordKeys keys({"well", "well-made", "big"}, {"zoo", "ant", "made-up", "ant"});
  std::vector<std::string> all;
  for (int64_t i = 0; i < keys.size(); ++i) all.push_back(keys.At(i));
  EXPECT_THAT(all, ElementsAre("big-ant", "big-made-up", "big-zoo", "well-ant", "well-made-ant",
                               "well-made-made-up", "well-made-up", "well-made-zoo", "well-zoo"));
}

TEST(Haystack, WordsAndSentences) {
  EXPECT_THAT(EssayWords("a  b\n\tc "), ElementsAre("a", "b", "c", ""));
  EXPECT_THAT(SplitSentences("One. Two?  Three.four! End"),
              ElementsAre("One.", "Two?", " Three.four!", "End"));
}

TEST(Fitting, ALengthThatNothingFitsIsAnError) {
  const Words words = MakeWords({"cat", "dog"}, {"big", "old"}, {"run"});
  const auto generator = MakeNiah({}, words, nullptr);
  for (const Shrink shrink : {Shrink::kReference, Shrink::kBisect}) {
    Streams streams(42);
    FittingPlan plan;
    plan.target_length = 150;
    plan.answer_tokens = 128;
    plan.increment = 5;
    plan.shrink = shrink;
    EXPECT_THROW(MakeSamples(*generator, plan, 5, 1, MockTokens, streams), Error);
  }
}

}  // namespace
}  // namespace natsl::tasks::ruler
