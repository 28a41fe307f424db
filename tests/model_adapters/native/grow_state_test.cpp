// Sessions that are lengthened without computing: as large as real ones, and they go on.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_adapters/native/tiny_models.h"

namespace natsl::model_adapters::native {
namespace {

constexpr int64_t kShort = 200, kLong = kShort + 64 * 10;

class GrowState : public testing::TestWithParam<TinyModel> {};

TEST_P(GrowState, IsAsLargeAsAComputedStateAndGoesOn) {
  OpenOptions options;
  options.forced_softmax_share = 1;  // NAtS-L keeps every chunk
  const auto model = OpenTiny(GetParam(), options);
  const auto grown = model->NewSession(2), computed = model->NewSession(2);
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
  before->Decode(1);
  EXPECT_EQ(before->length(), kShort + 1);
}

TEST_P(GrowState, RefusesWhatItCantDo) {
  const auto model = OpenTiny(GetParam());
  const auto session = model->NewSession(1);
  session->Prefill(RandomIds(10, 1));
  EXPECT_FALSE(session->GrowSynthetic(74));  // no whole page yet
  session->Prefill(RandomIds(90, 1));
  EXPECT_FALSE(session->GrowSynthetic(99));
  EXPECT_FALSE(session->GrowSynthetic(120));
  EXPECT_EQ(session->length(), 100);
  EXPECT_TRUE(session->GrowSynthetic(164));
}

INSTANTIATE_TEST_SUITE_P(All, GrowState, testing::ValuesIn(TinyModels()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace natsl::model_adapters::native
