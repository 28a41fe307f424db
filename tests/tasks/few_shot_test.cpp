// Few-shot draws: CPython's numbers, the k + 1 rule, copies of the document, first_n, leaks.
#include "tasks/few_shot.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace natsl::tasks {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

FewShotOptions Shots(int64_t count, FewShotSampler sampler = FewShotSampler::kRandom) {
  FewShotOptions options;
  options.count = count;
  options.sampler = sampler;
  return options;
}

const auto kNever = [](int64_t, int64_t) { return false; };
const auto kSameIndex = [](int64_t document, int64_t index) { return document == index; };

TEST(FewShotTest, DrawsAsPythonDoesFromDocumentToDocument) {
  const FewShotDraw draw = DrawFewShot("t", {.documents = 3, .pool = 1119}, Shots(5), kNever);
  EXPECT_EQ(draw.examples,
            (Lists{{902, 239, 15, 185, 71}, {171, 201, 726, 484, 35}, {63, 32, 708, 991, 949}}));
  EXPECT_EQ(draw.leaks, 0);
}

TEST(FewShotTest, DrawsOneMoreAndKeepsTheFirst) {
  const FewShotSizes sizes{.documents = 2, .pool = 39905, .removes_document = true};
  EXPECT_EQ(DrawFewShot("t", sizes, Shots(5), kNever).examples,
            (Lists{{28883, 7657, 490, 5940, 38156}, {5500, 6450, 23241, 15519, 1142}}));
}

TEST(FewShotTest, RemovesTheDocument) {
  const FewShotSizes sizes{.documents = 1, .pool = 39905, .removes_document = true};
  const auto draw =
      DrawFewShot("t", sizes, Shots(5), [](int64_t, int64_t index) { return index == 7657; });
  EXPECT_EQ(draw.examples, (Lists{{28883, 490, 5940, 38156, 2288}}));
  EXPECT_EQ(draw.leaks, 0);
}

TEST(FewShotTest, RedrawsWhereCopiesLeaveTooFew) {
  // sample(10, 3) is 7, 1, 0: two of them are copies, so one example is left of two.
  const FewShotSizes sizes{.documents = 1, .pool = 10, .removes_document = true};
  const auto draw = DrawFewShot("t", sizes, Shots(2),
                                [](int64_t, int64_t index) { return index == 7 || index == 1; });
  ASSERT_EQ(draw.examples[0].size(), 2U);
  for (const int32_t index : draw.examples[0]) EXPECT_TRUE(index != 7 && index != 1) << index;
  EXPECT_NE(draw.examples[0][0], draw.examples[0][1]);
}

TEST(FewShotTest, LeaksAreCountedAndExcludedOnDemand) {
  const FewShotSizes sizes{.documents = 10, .pool = 10};
  FewShotOptions options = Shots(4);
  const FewShotDraw leaking = DrawFewShot("t", sizes, options, kSameIndex);
  int64_t leaks = 0;
  for (size_t i = 0; i < 10; ++i) {
    for (const int32_t index : leaking.examples[i]) leaks += index == static_cast<int32_t>(i);
  }
  EXPECT_GT(leaks, 0);
  EXPECT_EQ(leaking.leaks, leaks);
  options.exclude_evaluated = true;
  const FewShotDraw clean = DrawFewShot("t", sizes, options, kSameIndex);
  EXPECT_EQ(clean.leaks, 0);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(clean.examples[i].size(), 4U);
    for (const int32_t index : clean.examples[i]) EXPECT_NE(index, static_cast<int32_t>(i));
  }
}

TEST(FewShotTest, FirstN) {
  const auto first = FewShotSampler::kFirstN;
  EXPECT_EQ(DrawFewShot("t", {.documents = 2, .pool = 5}, Shots(2, first), kSameIndex).examples,
            (Lists{{0, 1}, {0, 1}}));
  EXPECT_EQ(DrawFewShot("t", {.documents = 3, .pool = 5, .removes_document = true}, Shots(2, first),
                        kSameIndex)
                .examples,
            (Lists{{1, 2}, {0, 2}, {0, 1}}));
}

TEST(FewShotTest, NoShotsNeedNoPool) {
  EXPECT_EQ(DrawFewShot("t", {.documents = 2}, Shots(0), kNever).examples, (Lists{{}, {}}));
  EXPECT_EQ(DrawFewShot("t", {.documents = 1}, {}, kNever).examples, (Lists{{}}));
}

TEST(FewShotTest, SmallPoolsAreErrors) {
  const auto message = [](const FewShotSizes& sizes, const FewShotOptions& options, auto same) {
    try {
      DrawFewShot("toy", sizes, options, same);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kData);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(
      message({.documents = 1, .pool = 3}, Shots(4), kNever),
      "task toy: the few-shot pool has 3 records, expected at least 4; lower --num-fewshot or "
      "give a larger pool with --fewshot-from");
  EXPECT_EQ(
      message({.documents = 1, .pool = 3, .removes_document = true}, Shots(3), kNever),
      "task toy: the few-shot pool has 3 records (one more than shown is drawn, in case the "
      "document is among them), expected at least 4; lower --num-fewshot or give a larger pool "
      "with --fewshot-from");
  EXPECT_EQ(message({.documents = 1, .pool = 3, .removes_document = true}, Shots(2),
                    [](int64_t, int64_t) { return true; }),
            "task toy: the few-shot pool has 0 records other than the evaluated document, expected "
            "at least 2; lower --num-fewshot or give a larger pool with --fewshot-from");
}

}  // namespace
}  // namespace natsl::tasks
