// The tokenizer, the fast encoder, and rows of the mixture.
#include "training/data/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "tests/process_folder.h"
#include "training/data/tokenizer_trainer.h"

namespace natsl::training {
namespace {

using testing::HasSubstr;

std::shared_ptr<const model_adapters::Tokenizer> TestTokenizer() {
  static const auto tokenizer = [] {
    const auto folder = tests::ProcessFolder() / "natsl_mixture_tokenizer";
    WriteTokenizer(folder, TrainTokenizer({.vocabulary = 640, .seed = 0}));
    return model_adapters::OpenTokenizer(folder);
  }();
  return tokenizer;
}

template <typename Call>
std::string ErrorOf(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenizerTrainer, GivesWhatWasAskedFor) {
  const auto& tokenizer = *TestTokenizer();
  EXPECT_EQ(tokenizer.vocabulary_size(), 640);
  EXPECT_EQ(tokenizer.special_tokens().bos, 1);
  EXPECT_EQ(tokenizer.special_tokens().eos, 2);
  const std::string text = "Ада \t «x»  two  spaces\nand 90210.";
  const auto ids = tokenizer.Encode(text, true);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(tokenizer.Decode(ids, true), text);
  const auto digits = tokenizer.Encode("9021042", false);
  EXPECT_EQ(digits.size(), 7u);
  EXPECT_EQ(digits[0], tokenizer.Encode("9", false)[0]);
}

TEST(TokenizerTrainer, TheSameSeedGivesTheSameBytes) {
  EXPECT_EQ(TrainTokenizer({.vocabulary = 512, .seed = 3}),
            TrainTokenizer({.vocabulary = 512, .seed = 3}));
  EXPECT_NE(TokenizerText(3), TokenizerText(4));
  EXPECT_THAT(ErrorOf([] { TrainTokenizer({.vocabulary = 4096}); }), HasSubstr("512 to 2048"));
}

TEST(TextEncoder, GivesTheTokenizersIds) {
  TextEncoder encoder(TestTokenizer());
  for (int kind = 0; kind < kDocumentKinds; ++kind) {
    for (int64_t i = 0; i < 20; ++i) {
      core::PythonRandom random(StreamSeed(StreamDomain::kTraining, 5, 0, kind, i));
      const Document document = MakeDocument(static_cast<DocumentKind>(kind), 10, random);
      std::vector<int32_t> ids;
      for (const Part& part : document) encoder.Append(part.text, ids);
      EXPECT_EQ(ids, TestTokenizer()->Encode(TextOf(document), false));
    }
  }
}

TEST(Mixture, IsParsedAndWritten) {
  EXPECT_EQ(ToString(ParseMixture("recall=2,needle=0.5")), "needle=0.5,recall=2");
  EXPECT_THAT(ErrorOf([] { ParseMixture("recal=2"); }), HasSubstr("no kind 'recal'"));
  EXPECT_THAT(ErrorOf([] { ParseMixture("recall"); }), HasSubstr("kind=weight"));
  EXPECT_THAT(ErrorOf([] { ParseMixture("recall=1,recall=2"); }), HasSubstr("twice"));
  EXPECT_THAT(ErrorOf([] { ParseMixture("recall=-1"); }), HasSubstr("'-1'"));
  EXPECT_THAT(ErrorOf([] { ParseMixture("recall=nan"); }), HasSubstr("'nan'"));
  EXPECT_THAT(ErrorOf([] { ParseMixture("recall=0"); }), HasSubstr("all weights are 0"));
}

TEST(RowMaker, RowsAreFullAndTargetsFollow) {
  for (const char* mixture : {"needle=1", "needles=1", "recall=1", "phonebook=1", "story=1"}) {
    RowMaker maker(TestTokenizer(), ParseMixture(mixture));
    int64_t learned = 0, answers = 0;
    for (int64_t row = 0; row < 30; ++row) {
      std::vector<int64_t> ids(512), targets(512);
      maker.Make(StreamSeed(StreamDomain::kTraining, 1, 0, 0, row), ids, targets);
      for (size_t i = 0; i < ids.size(); ++i) {
        ASSERT_GE(ids[i], 0);
        ASSERT_LT(ids[i], 640);
        if (targets[i] >= 0 && i + 1 < ids.size()) {
          ASSERT_EQ(targets[i], ids[i + 1]);
        }
        learned += targets[i] >= 0;
        if (i > 0 && i + 1 < ids.size()) answers += targets[i] >= 0 && targets[i - 1] < 0;
      }
    }
    EXPECT_GT(learned, 30 * 4) << mixture;
    EXPECT_GT(answers, 25) << mixture;
  }
}

TEST(RowMaker, ARowDependsOnItsSeedAlone) {
  const Mixture mixture = ParseMixture("needle=1,needles=1,recall=1,phonebook=1,story=1");
  RowMaker first(TestTokenizer(), mixture), second(TestTokenizer(), mixture);
  std::vector<int64_t> ids(256), targets(256), ids2(256), targets2(256), other(256);
  first.Make(1, other, targets);  // another row in between
  first.Make(99, ids, targets);
  second.Make(99, ids2, targets2);
  EXPECT_EQ(ids, ids2);
  EXPECT_EQ(targets, targets2);
  EXPECT_NE(ids, other);
}

}  // namespace
}  // namespace natsl::training
