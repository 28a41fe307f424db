// The string-to-ids protocol on a tokenizer that can be followed by hand.
#include "model_adapters/request_encoding.h"

#include <gtest/gtest.h>

#include "fake_models.h"

namespace natsl::model_adapters {
namespace {

using Ids = std::vector<TokenId>;
const ByteTokenizer kBos(true);
const ByteTokenizer kPlain(false);

EncodedPair Pair(const Tokenizer& tokenizer, const std::string& context,
                 const std::string& continuation, BosPolicy bos = BosPolicy::kAuto,
                 int64_t max_length = 100) {
  return EncodePair(tokenizer, context, continuation, bos, max_length);
}

TEST(EncodePair, EmptyContextIsThePrefixToken) {
  EXPECT_EQ(Pair(kBos, "", "x").context, Ids({256}));
  EXPECT_EQ(Pair(kBos, "", "x").continuation, Ids({'x'}));
  EXPECT_EQ(Pair(kBos, "", "<s>x").continuation, Ids({'x'}));
  EXPECT_EQ(Pair(kPlain, "", "x").context, Ids({256}));
}

TEST(EncodePair, TrailingWhiteSpaceMovesToTheContinuation) {
  const EncodedPair pair = Pair(kBos, "c \n\u3000", "d");
  EXPECT_EQ(pair.context, Ids({256, 'c'}));
  EXPECT_EQ(pair.continuation, Ids({' ', '\n', 0xE3, 0x80, 0x80, 'd'}));
  // A zero-width space isn't white space to Python.
  EXPECT_EQ(Pair(kBos, "c\u200b", "d").continuation, Ids({'d'}));
}

TEST(EncodePair, WhiteSpaceContextWithoutBosGetsThePrefixToken) {
  EXPECT_EQ(Pair(kPlain, " ", "d").context, Ids({256}));
  EXPECT_EQ(Pair(kPlain, " ", "d").continuation, Ids({' ', 'd'}));
}

TEST(EncodePair, SplitsByTokenCountAsTheHarness) {
  // "xa" + "b?" joins "ab": the context keeps its own ids, the continuation loses its first.
  const EncodedPair pair = Pair(kPlain, "xa", "b?");
  EXPECT_EQ(pair.context, Ids({'x', 'a'}));
  EXPECT_EQ(pair.continuation, Ids({'?'}));
}

TEST(EncodePair, MergeThatSwallowsTheContinuationIsScoredWhole) {
  const EncodedPair pair = Pair(kPlain, "xa", "b");
  EXPECT_EQ(pair.context, Ids({'x'}));
  EXPECT_EQ(pair.continuation, Ids({300}));
}

TEST(EncodePair, BosPolicies) {
  EXPECT_EQ(Pair(kBos, "c", "d", BosPolicy::kNever).context, Ids({'c'}));
  EXPECT_EQ(Pair(kPlain, "c", "d", BosPolicy::kAuto).context, Ids({'c'}));
  EXPECT_EQ(Pair(kPlain, "c", "d", BosPolicy::kAlways).context, Ids({256, 'c'}));
  EXPECT_EQ(Pair(kBos, "<s>c", "d").context, Ids({256, 'c'}));
}

TEST(EncodePair, CutsFromTheLeftToOneMoreThanTheModelReads) {
  const EncodedPair pair = Pair(kBos, "0123456789", "xy", BosPolicy::kAuto, 6);
  EXPECT_EQ(pair.context, Ids({'5', '6', '7', '8', '9'}));
  EXPECT_EQ(pair.continuation, Ids({'x', 'y'}));
  EXPECT_EQ(pair.dropped, 6);
  const EncodedPair longest = Pair(kBos, "c", "123456", BosPolicy::kAuto, 6);
  EXPECT_EQ(longest.context, Ids({'c'}));
  EXPECT_THROW(Pair(kBos, "c", "1234567", BosPolicy::kAuto, 6), Error);
  EXPECT_THROW(Pair(kBos, "c", ""), Error);
}

TEST(RollingWindows, WorkedExamples) {
  struct Case {
    int64_t ids;
    std::vector<std::pair<Ids, Ids>> windows;
  };
  constexpr TokenId kPrefix = 99;
  const std::vector<Case> cases = {
      {0, {}},
      {1, {{{99}, {0}}}},
      {4, {{{99}, {0, 1, 2, 3}}}},
      {5, {{{99}, {0, 1, 2, 3}}, {{0, 1, 2, 3}, {4}}}},
      {8, {{{99}, {0, 1, 2, 3}}, {{3}, {4, 5, 6, 7}}}},
      {10, {{{99}, {0, 1, 2, 3}}, {{3}, {4, 5, 6, 7}}, {{5, 6, 7}, {8, 9}}}},
  };
  for (const Case& c : cases) {
    Ids ids;
    for (TokenId i = 0; i < c.ids; ++i) ids.push_back(i);
    const std::vector<TokenScoreRequest> windows = RollingWindows(ids, kPrefix, 4);
    ASSERT_EQ(windows.size(), c.windows.size()) << c.ids;
    for (size_t w = 0; w < windows.size(); ++w) {
      const auto split = windows[w].ids.begin() + windows[w].scored_from;
      EXPECT_EQ(Ids(windows[w].ids.begin(), split), c.windows[w].first) << c.ids << " ids";
      EXPECT_EQ(Ids(split, windows[w].ids.end()), c.windows[w].second) << c.ids << " ids";
    }
  }
}

TEST(EncodeWholeWindows, DocumentWindowsStartWithBosAndDropTheRest) {
  RollingRequest request;
  request.text = "0123456789";
  request.whole_windows = 5;
  const WholeWindows with_bos = EncodeWholeWindows(kBos, request, BosPolicy::kAuto, 4);
  ASSERT_EQ(with_bos.windows.size(), 2u);
  EXPECT_EQ(with_bos.windows[1].ids, Ids({256, '4', '5', '6', '7'}));
  EXPECT_EQ(with_bos.windows[1].scored_from, 1);
  EXPECT_EQ(with_bos.scored_bytes, 8);
  const WholeWindows without = EncodeWholeWindows(kPlain, request, BosPolicy::kAuto, 4);
  ASSERT_EQ(without.windows.size(), 2u);
  EXPECT_EQ(without.windows[1].ids, Ids({'5', '6', '7', '8', '9'}));
  EXPECT_TRUE(EncodeWholeWindows(kPlain, request, BosPolicy::kAuto, 10).windows.empty());
}

TEST(EncodeWholeWindows, PackedWindowsShareAnEnd) {
  // The worked example of the definition: documents of 5, 3 and 6 ids, windows of 4 predictions.
  RollingRequest request;
  request.text = "qwert";
  request.packed = {"yui", "asdfgh"};
  request.whole_windows = 100;
  const WholeWindows packed = EncodeWholeWindows(kPlain, request, BosPolicy::kAuto, 4);
  ASSERT_EQ(packed.windows.size(), 4u);
  EXPECT_EQ(packed.windows[1].ids, Ids({'t', 257, 'y', 'u', 'i'}));
  EXPECT_EQ(packed.windows[3].ids, Ids({'d', 'f', 'g', 'h', 257}));
}

TEST(EncodePrompt, LeavesRoomForTheAnswer) {
  const EncodedPrompt prompt = EncodePrompt(kBos, "0123456789", BosPolicy::kAuto, 8, 3, {});
  EXPECT_EQ(prompt.ids, Ids({'5', '6', '7', '8', '9'}));
  EXPECT_EQ(prompt.dropped, 6);
  EXPECT_THROW(EncodePrompt(kBos, "0", BosPolicy::kAuto, 8, 8, {}), Error);
  EXPECT_EQ(EncodePrompt(kPlain, "", BosPolicy::kAuto, 8, 3, {}).ids, Ids({256}));
}

TEST(EncodePrompt, MiddleTruncationKeepsBothEnds) {
  const EncodedPrompt prompt = EncodePrompt(kBos, "0123456789", BosPolicy::kAuto, 100, 3, 6);
  EXPECT_EQ(prompt.ids, Ids({256, '0', '1', '7', '8', '9'}));
  EXPECT_EQ(prompt.dropped, 5);
  EXPECT_EQ(EncodePrompt(kBos, "01234", BosPolicy::kAuto, 100, 3, 6).dropped, 0);
  // Relative to the model's length; and shrunk until the answer fits beside it.
  EXPECT_EQ(EncodePrompt(kBos, "0123456789", BosPolicy::kAuto, 10, 3, -4).ids,
            Ids({256, '0', '1', '7', '8', '9'}));
  EXPECT_EQ(EncodePrompt(kBos, "0123456789", BosPolicy::kAuto, 10, 4, -2).ids,
            Ids({256, '0', '1', '7', '8', '9'}));
}

TEST(CutAtStops, OneAfterTheOtherInTheirOrder) {
  std::string text = "xABC";
  EXPECT_TRUE(CutAtStops(text, {"BC", "AB"}));
  EXPECT_EQ(text, "xA");
  text = "xABC";
  EXPECT_TRUE(CutAtStops(text, {"AB", "BC"}));
  EXPECT_EQ(text, "x");
  EXPECT_FALSE(CutAtStops(text, {"", "Q"}));
}

}  // namespace
}  // namespace natsl::model_adapters
