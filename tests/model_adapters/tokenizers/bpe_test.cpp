// The merge loops against the plain definition, and the model's options.
#include "model_adapters/tokenizers/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model_adapters/tokenizers/bpe_merge.h"

namespace natsl::model_adapters::tokenizers {
namespace {

using Ids = std::vector<TokenId>;

TEST(BpeMerge, EqualToTheDefinition) {
  std::mt19937 random(11);
  // Tokens are strings over {a, b, c}; a merge makes the token of the joined string.
  std::vector<std::string> tokens = {"a", "b", "c"};
  std::map<std::string, TokenId> ids = {{"a", 0}, {"b", 1}, {"c", 2}};
  MergeTable table(200);
  std::map<std::pair<TokenId, TokenId>, std::pair<uint32_t, TokenId>> plain;
  for (uint32_t rank = 0; rank < 200; ++rank) {
    const auto left = static_cast<TokenId>(random() % tokens.size());
    const auto right = static_cast<TokenId>(random() % tokens.size());
    const std::string joined =
        tokens[static_cast<size_t>(left)] + tokens[static_cast<size_t>(right)];
    if (joined.size() > 6 || plain.contains({left, right})) continue;
    const auto [entry, added] = ids.try_emplace(joined, static_cast<TokenId>(tokens.size()));
    if (added) tokens.push_back(joined);
    table.Set(left, right, {rank, entry->second});
    plain[{left, right}] = {rank, entry->second};
  }
  for (int round = 0; round < 600; ++round) {
    Ids symbols;
    const size_t length = round % 3 == 0 ? 200 + random() % 100 : random() % 60;
    for (size_t i = 0; i < length; ++i) symbols.push_back(static_cast<TokenId>(random() % 3));
    Ids expected = symbols;
    for (;;) {
      size_t best = SIZE_MAX;
      uint32_t best_rank = UINT32_MAX;
      for (size_t i = 0; i + 1 < expected.size(); ++i) {
        const auto merge = plain.find({expected[i], expected[i + 1]});
        if (merge != plain.end() && merge->second.first < best_rank) {
          best = i;
          best_rank = merge->second.first;
        }
      }
      if (best == SIZE_MAX) break;
      expected[best] = plain[{expected[best], expected[best + 1]}].second;
      expected.erase(expected.begin() + static_cast<int64_t>(best) + 1);
    }
    MergeByRank(table, symbols);
    ASSERT_EQ(symbols, expected) << "length " << length;
  }
}

Ids Encode(const Bpe& bpe, std::string_view piece) {
  Ids ids;
  bpe.Encode(piece, ids);
  return ids;
}

TokenTable Table(const std::vector<std::string>& tokens) {
  TokenTable table;
  for (size_t i = 0; i < tokens.size(); ++i) table.Add(tokens[i], static_cast<int64_t>(i));
  return table;
}

TEST(Bpe, UnknownCharacters) {
  const std::vector<std::string> tokens = {"<unk>", "a", "b", "ab"};
  MergeList merges;
  merges.Add("a", "b");
  EXPECT_EQ(Encode(Bpe(Table(tokens), merges, {}), "xab"), (Ids{3}));  // dropped
  EXPECT_EQ(Encode(Bpe(Table(tokens), merges, {.unk_token = "<unk>"}), "xyab"), (Ids{0, 0, 3}));
  EXPECT_EQ(Encode(Bpe(Table(tokens), merges, {.unk_token = "<unk>", .fuse_unk = true}), "xyabz"),
            (Ids{0, 3, 0}));
}

TEST(Bpe, ByteFallback) {
  const Bpe bpe(Table({"<unk>", "<0xC3>", "<0xA9>", "a"}), {},
                {.unk_token = "<unk>", .byte_fallback = true});
  EXPECT_EQ(Encode(bpe, "aé中"), (Ids{3, 1, 2, 0}));
}

TEST(Bpe, PrefixAndSuffix) {
  MergeList merges;
  merges.Add("a", "##b</w>");
  const Bpe bpe(Table({"a", "##a", "##b</w>", "ab</w>", "a</w>"}), merges,
                {.continuing_subword_prefix = "##", .end_of_word_suffix = "</w>"});
  EXPECT_EQ(Encode(bpe, "ab"), (Ids{3}));
  EXPECT_EQ(Encode(bpe, "aab"), (Ids{0, 1, 2}));
  EXPECT_EQ(Encode(bpe, "a"), (Ids{4}));
}

TEST(Bpe, IgnoreMergesTakesWholeTokens) {
  const std::vector<std::string> tokens = {"a", "b", "c", "abc"};
  EXPECT_EQ(Encode(Bpe(Table(tokens), {}, {}), "abc"), (Ids{0, 1, 2}));
  EXPECT_EQ(Encode(Bpe(Table(tokens), {}, {.ignore_merges = true}), "abc"), (Ids{3}));
}

TEST(Bpe, CuttingAtSpaceMarksChangesNothing) {
  // "c▁" is a merge, so after "c" there is no cut; elsewhere there is.
  const std::vector<std::string> tokens = {"▁", "a", "b", "c", "▁a", "▁▁", "ab", "c▁", "▁ab"};
  MergeList merges;
  merges.Add("▁", "▁");
  merges.Add("c", "▁");
  merges.Add("▁", "a");
  merges.Add("▁a", "b");
  merges.Add("a", "b");
  const Bpe bpe(Table(tokens), merges, {});
  std::string text;
  Ids expected;
  for (int i = 0; i < 20; ++i) {
    text += "▁abc▁ab▁▁a";
    const Ids part = {8, 7, 6, 5, 1};
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(Encode(bpe, text), expected);
}

}  // namespace
}  // namespace natsl::model_adapters::tokenizers
