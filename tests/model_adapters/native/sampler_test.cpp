// The choice of a next token.
#include "model_adapters/native/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace natsl::model_adapters::native {
namespace {

const std::vector<float> kLogits = {std::log(0.1f), std::log(0.4f), std::log(0.3f), std::log(0.2f)};

std::vector<double> Frequencies(const Sampling& sampling, int draws) {
  Random random(sampling.seed);
  std::vector<double> counts(kLogits.size(), 0);
  for (int i = 0; i < draws; ++i)
    counts[static_cast<size_t>(Sample(kLogits, sampling, random))] += 1.0 / draws;
  return counts;
}

TEST(Sampler, GreedyTakesTheLowestOfEqualIds) {
  Random random(0);
  EXPECT_EQ(Sample(std::vector<float>{1, 3, 3, 2}, Sampling{}, random), 1);
}

TEST(Sampler, ChoosesNothingOfWhatIsNoNumber) {
  Random random(0);
  for (const double temperature : {0.0, 1.0}) {
    const Sampling sampling{.temperature = temperature};
    for (size_t at = 0; at < 3; ++at) {
      std::vector<float> logits = {1, 3, 2};
      logits[at] = NAN;
      EXPECT_EQ(Sample(logits, sampling, random), kNoToken);
    }
    const float least = -INFINITY;
    EXPECT_EQ(Sample(std::vector<float>{least, 3, least}, sampling, random), 1);
  }
}

TEST(Sampler, FollowsTheDistribution) {
  const auto share = Frequencies({.temperature = 1, .seed = 5}, 20000);
  EXPECT_NEAR(share[0], 0.1, 0.02);
  EXPECT_NEAR(share[1], 0.4, 0.02);
  EXPECT_NEAR(share[2], 0.3, 0.02);
  EXPECT_NEAR(share[3], 0.2, 0.02);
}

TEST(Sampler, TemperatureSharpens) {
  // Probabilities to the power of 2, normalised: 0.01, 0.16, 0.09, 0.04 of 0.3.
  const auto share = Frequencies({.temperature = 0.5, .seed = 6}, 20000);
  EXPECT_NEAR(share[1], 0.16 / 0.3, 0.02);
  EXPECT_NEAR(share[3], 0.04 / 0.3, 0.02);
}

TEST(Sampler, TopKAndTopPCut) {
  const auto top_k = Frequencies({.temperature = 1, .top_k = 2, .seed = 7}, 20000);
  EXPECT_EQ(top_k[0], 0);
  EXPECT_EQ(top_k[3], 0);
  EXPECT_NEAR(top_k[1], 4.0 / 7, 0.02);
  // 0.4 + 0.3 reach 0.65: the third isn't needed.
  const auto top_p = Frequencies({.temperature = 1, .top_p = 0.65, .seed = 8}, 20000);
  EXPECT_EQ(top_p[0], 0);
  EXPECT_EQ(top_p[3], 0);
  const auto tiny = Frequencies({.temperature = 1, .top_p = 1e-9, .seed = 8}, 100);
  EXPECT_NEAR(tiny[1], 1, 1e-9);
}

TEST(Sampler, GeneratorIsTheDocumentedOne) {
  // SplitMix64 from seed 0 starts with 0xE220A8397B1DCDAF.
  Random random(0);
  EXPECT_EQ(random.Uniform(), static_cast<double>(0xE220A8397B1DCDAFu >> 11) * 0x1.0p-53);
}

}  // namespace
}  // namespace natsl::model_adapters::native
