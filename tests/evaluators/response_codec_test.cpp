// Stored answers come back exactly; damaged ones are refused.
#include "evaluators/response_codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace natsl::evaluators {
namespace {

using namespace model_adapters;

TEST(ResponseCodec, LoglikelihoodRoundTrip) {
  LoglikelihoodResult result;
  result.context_tokens = 7;
  result.output_tokens = 2;
  result.truncated_tokens = 3;
  result.log_prob = -0.1 - 1e-17;
  result.is_greedy = true;
  result.token_log_probs = {-1.5f, -INFINITY};
  LoglikelihoodResult back;
  Decode(Encode(result), back);
  EXPECT_EQ(back.context_tokens, 7);
  EXPECT_EQ(back.output_tokens, 2);
  EXPECT_EQ(back.truncated_tokens, 3);
  EXPECT_EQ(back.log_prob, result.log_prob);
  EXPECT_TRUE(back.is_greedy);
  EXPECT_EQ(back.token_log_probs, result.token_log_probs);
  EXPECT_FALSE(back.error.has_value());
}

TEST(ResponseCodec, GenerationRoundTrip) {
  GenerateResult result;
  result.text = std::string("a\0b\n", 4);
  result.ids = {1, -1, 2147483647};
  result.finish = FinishReason::kEos;
  result.error = "boom";
  result.skipped = true;
  GenerateResult back;
  Decode(Encode(result), back);
  EXPECT_EQ(back.text, result.text);
  EXPECT_EQ(back.ids, result.ids);
  EXPECT_EQ(back.finish, FinishReason::kEos);
  EXPECT_EQ(back.error, "boom");
  EXPECT_TRUE(back.skipped);
}

TEST(ResponseCodec, RollingRoundTrip) {
  RollingResult result;
  result.log_prob = -3.25;
  result.scored_bytes = 77;
  result.token_log_probs = {-1, -2.25f};
  RollingResult back;
  Decode(Encode(result), back);
  EXPECT_EQ(back.log_prob, -3.25);
  EXPECT_EQ(back.scored_bytes, 77);
  EXPECT_EQ(back.token_log_probs, result.token_log_probs);
}

TEST(ResponseCodec, WhatHeadsChoseFollowsWhereItIsTold) {
  GenerateResult result;
  result.text = "a";
  const std::string before = Encode(result);
  result.softmax = {3, {0, 2, 3}};
  const std::string bytes = Encode(result);
  EXPECT_EQ(bytes.substr(0, before.size()), before) << "answers of other models have changed";
  GenerateResult back;
  Decode(bytes, back);
  EXPECT_EQ(back.softmax.chunks, 3);
  EXPECT_EQ(back.softmax.by_head, (std::vector<int32_t>{0, 2, 3}));
  Decode(before, back);
  EXPECT_TRUE(back.softmax.by_head.empty());
  EXPECT_EQ(back.softmax.chunks, 0);
  for (size_t size = before.size() + 1; size < bytes.size(); ++size) {
    EXPECT_THROW(Decode(std::string_view(bytes).substr(0, size), back), Error) << size;
  }
  result.softmax.by_head[1] = 4;
  EXPECT_THROW(Decode(Encode(result), back), Error) << "more softmax chunks than chunks";
  result.softmax.by_head[1] = -1;
  EXPECT_THROW(Decode(Encode(result), back), Error);
}

TEST(ResponseCodec, EveryCutIsRefused) {
  RollingResult result;
  result.log_prob = -3;
  result.token_log_probs = {-1, -2};
  const std::string bytes = Encode(result);
  for (size_t size = 0; size < bytes.size(); ++size) {
    RollingResult back;
    EXPECT_THROW(Decode(std::string_view(bytes).substr(0, size), back), Error) << size;
  }
  RollingResult back;
  EXPECT_THROW(Decode(bytes + "x", back), Error);
}

TEST(ResponseCodec, HugeLengthIsRefusedWithoutAllocating) {
  GenerateResult result;
  std::string bytes = Encode(result);
  const int64_t huge = int64_t{1} << 62;
  bytes.replace(26, sizeof(huge), reinterpret_cast<const char*>(&huge), sizeof(huge));
  GenerateResult back;
  EXPECT_THROW(Decode(bytes, back), Error);
}

}  // namespace
}  // namespace natsl::evaluators
