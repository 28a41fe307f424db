// Lengths, phases and points as a user writes them.
#include "latency/record/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "latency/plan.h"

namespace natsl::latency {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> Parse(const std::string& text) { return ParseLengths(text, "--prompt", 1); }

TEST(Lengths, NumbersRangesAndLists) {
  EXPECT_THAT(Parse("512"), ElementsAre(512));
  EXPECT_THAT(Parse("1k"), ElementsAre(1024));
  EXPECT_THAT(Parse("1M"), ElementsAre(1 << 20));
  EXPECT_THAT(Parse("1k-128k*2"), ElementsAre(1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072));
  EXPECT_THAT(Parse("1k-4k+1k"), ElementsAre(1024, 2048, 3072, 4096));
  EXPECT_THAT(Parse("1k-5000+1k"), ElementsAre(1024, 2048, 3072, 4096));  // 5120 is beyond
  EXPECT_THAT(Parse("4k,512,1k-2k*2,1k"), ElementsAre(512, 1024, 2048, 4096));
  EXPECT_THAT(Parse("7-7+1"), ElementsAre(7));
  EXPECT_THAT(ParseLengths("0,32k", "--depth", 0), ElementsAre(0, 32768));
}

TEST(Lengths, WhatIsWrongIsNamed) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      Parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message("0"), HasSubstr("--prompt: \"0\" is 0, expected at least 1"));
  EXPECT_THAT(message("8k-1k*2"), HasSubstr("descends from 8192 to 1024"));
  EXPECT_THAT(message("1k-8k"), HasSubstr("no step"));
  EXPECT_THAT(message("1k-8k*1"), HasSubstr("never gets on"));
  EXPECT_THAT(message("1k-8k+0"), HasSubstr("never gets on"));
  EXPECT_THAT(message("99999999999999999999"), HasSubstr("beyond 2^30"));
  EXPECT_THAT(message("2000000k"), HasSubstr("beyond 2^30"));
  EXPECT_THAT(message("-5"), HasSubstr("is -5, expected at least 1"));
  for (const char* text :
       {"", "1k,", "k", "1kk", "1.5k", "1k-", "-", "1k-8k*", "1 k", "1k--8k*2"}) {
    EXPECT_NE(message(text), "no error") << text;
  }
  EXPECT_THAT(message("1-100000+1"), HasSubstr("more than 4096 values"));
}

TEST(Lengths, Shares) {
  EXPECT_THAT(ParseShares("0.25,0.1,1", "--softmax-share"), ElementsAre(0.1, 0.25, 1));
  for (const char* text : {"", "1.5", "-0.1", "0.1,", "x", "nan"}) {
    EXPECT_THROW(ParseShares(text, "--softmax-share"), Error) << text;
  }
}

TEST(Lengths, Formatted) {
  EXPECT_EQ(FormatLength(131072), "128k");
  EXPECT_EQ(FormatLength(1000), "1000");
  EXPECT_EQ(FormatLength(0), "0");
}

TEST(Plan, NamesAndOrder) {
  const std::vector<Point> points = MakePlan({.phases = ParsePhases("all"),
                                              .prompts = {512, 1024},
                                              .depths = {0, 32768},
                                              .batches = {1, 8},
                                              .new_tokens = 64});
  std::vector<std::string> names;
  for (const Point& point : points) names.push_back(Name(point));
  EXPECT_EQ(points.size(), 24u);
  EXPECT_THAT(std::vector<std::string>(names.begin(), names.begin() + 6),
              ElementsAre("pp512", "pp1k", "pp512x8", "pp1kx8", "ttft512", "ttft1k"));
  for (const char* name : {"tg64@d0", "tg64@d32kx8", "pp1k+tg64", "tok512", "sample@d32k"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
  EXPECT_EQ(Only(points, "tg64@d0,pp1k").size(), 2u);
  EXPECT_THROW(Only(points, "pp7"), Error);
  EXPECT_THROW(ParsePhases("prefill,decoding"), Error);
  EXPECT_THAT(ParsePhases("decode,prefill"), ElementsAre(Phase::kPrefill, Phase::kDecode));
}

}  // namespace
}  // namespace natsl::latency
