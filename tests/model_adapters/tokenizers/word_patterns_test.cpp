// The hand-written matchers against the general engine on the same patterns.
#include "model_adapters/tokenizers/word_patterns.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "model_adapters/tokenizers/pattern.h"

namespace natsl::model_adapters::tokenizers {
namespace {

constexpr const char* kPatterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)"};

std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      "'",  "s",  "T",    "re", "LL",     "'ve",    "'D", "\u017F", " ", " ",
      "  ", "\n", "\r\n", "a",  "é",      "中",     "1",  "23",     "½", "９",
      ".",  "-",  "😀",    "\t", "\u00A0", "\u3000", "_",  "e\u0301"};
  std::string text;
  const size_t parts = random() % 30;
  for (size_t i = 0; i < parts; ++i) text += kParts[random() % kParts.size()];
  return text;
}

TEST(WordPatterns, EqualToTheGeneralEngine) {
  std::mt19937 random(5);
  for (const std::string pattern : kPatterns) {
    ASSERT_TRUE(FindWordPattern(pattern)) << pattern;
    const std::string grouped = "(?:" + pattern + ")";
    ASSERT_FALSE(FindWordPattern(grouped));
    const auto known = MakeRegexPattern(pattern);
    const auto general = MakeRegexPattern(grouped);
    for (int round = 0; round < 2000; ++round) {
      const std::string text = RandomText(random);
      std::vector<Match> ours, reference;
      known->Find(text, ours);
      general->Find(text, reference);
      ASSERT_EQ(ours.size(), reference.size()) << pattern << " on '" << text << "'";
      for (size_t i = 0; i < ours.size(); ++i) {
        ASSERT_EQ(ours[i].begin, reference[i].begin) << "'" << text << "'";
        ASSERT_EQ(ours[i].end, reference[i].end) << "'" << text << "'";
      }
    }
  }
}

TEST(WordPatterns, AlmostKnownIsUnknown) {
  EXPECT_FALSE(FindWordPattern(std::string(kPatterns[1]) + "|x"));
  EXPECT_FALSE(FindWordPattern(R"('s|'t)"));
  EXPECT_FALSE(FindWordPattern(""));
}

TEST(Pattern, EndlessBacktrackingIsStopped) {
  const auto pattern = MakeRegexPattern("(a+)+$");
  std::vector<Match> matches;
  try {
    pattern->Find(std::string(60, 'a') + "b", matches);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_NE(std::string(error.what()).find("takes too long"), std::string::npos) << error.what();
  }
}

TEST(Pattern, OffsetsAreBytes) {
  std::vector<Match> matches;
  MakeRegexPattern("b.")->Find("😀éb中b", matches);
  ASSERT_EQ(matches.size(), 1u);
  EXPECT_EQ(matches[0].begin, 6u);
  EXPECT_EQ(matches[0].end, 10u);
}

}  // namespace
}  // namespace natsl::model_adapters::tokenizers
