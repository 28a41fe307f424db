// Sessions that are lengthened without computing, whatever runs them: as large as real ones, and
// they go on.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {

/// NAtS-L keeps every chunk: a state of any origin has the same pages.
inline OpenOptions KeepingEveryChunk(OpenOptions options = {}) {
  options.forced_softmax_share = 1;
  return options;
}

inline void ExpectGrowsAsIfComputed(NativeModel& model) {
  constexpr int64_t kShort = 200, kLong = kShort + 64 * 10;
  const auto grown = model.NewSession(2), computed = model.NewSession(2);
  grown->Prefill(RandomIds(2 * kShort, 1));
  const std::unique_ptr<Session> before = grown->Fork();
  ASSERT_TRUE(grown->GrowSynthetic(kLong));
  computed->Prefill(RandomIds(2 * kLong, 1));
  EXPECT_EQ(grown->length(), kLong);
  EXPECT_EQ(grown->StateBytes().kv, computed->StateBytes().kv);
  EXPECT_EQ(grown->StateBytes().recurrent, computed->StateBytes().recurrent);
  EXPECT_EQ(grown->StateBytes().convolution, computed->StateBytes().convolution);
  grown->Decode(70);  // over a page's end
  computed->Decode(70);
  EXPECT_EQ(grown->length(), kLong + 70);
  EXPECT_EQ(grown->StateBytes().total(), computed->StateBytes().total());
  for (const float log_prob : grown->NextLogProbs()) ASSERT_TRUE(std::isfinite(log_prob));
  // The fork keeps its own length and state.
  EXPECT_EQ(before->length(), kShort);
  const auto fresh = model.NewSession(2);
  fresh->Prefill(RandomIds(2 * kShort, 1));
  before->Decode(1);
  fresh->Decode(1);
  EXPECT_EQ(before->length(), kShort + 1);
  EXPECT_EQ(before->NextLogProbs(), fresh->NextLogProbs());
}

inline void ExpectGrowsByWholePagesAlone(NativeModel& model) {
  const auto session = model.NewSession(1);
  session->Prefill(RandomIds(10, 1));
  EXPECT_FALSE(session->GrowSynthetic(74));  // no whole page yet
  session->Prefill(RandomIds(90, 1));
  EXPECT_FALSE(session->GrowSynthetic(99));
  EXPECT_FALSE(session->GrowSynthetic(120));
  EXPECT_EQ(session->length(), 100);
  EXPECT_TRUE(session->GrowSynthetic(164));
}

}  // namespace natsl::model_adapters::native
