// The harness's bootstrap, Python's generator, means and group errors against published vectors.
#include "core/statistics/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/python_random.h"
#include "core/statistics/descriptive.h"
#include "core/statistics/group.h"
#include "core/statistics/mersenne_seed.h"
#include "core/statistics/perplexity.h"
#include "core/statistics/python_arithmetic.h"

namespace natsl::core::statistics {
namespace {

const std::vector<double> kLogProbs = {-0.5, -1.0, -2.0, -4.0, -0.25};

TEST(MersenneSeedTest, StartsPythonsStream) {
  // The first word drawn is a function of words 0, 1 and 397 of the state.
  const auto state = SeedMersenne(1234);
  const uint32_t mixed = (state[0] & 0x80000000U) | (state[1] & 0x7FFFFFFFU);
  uint32_t word = state[397] ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? 0x9908B0DFU : 0U);
  word ^= word >> 11;
  word ^= (word << 7) & 0x9D2C5680U;
  word ^= (word << 15) & 0xEFC60000U;
  EXPECT_EQ(word ^ (word >> 18), 4150886329U);
}

TEST(BootstrapTest, EqualsTheReference) {
  EXPECT_EQ(Perplexity(kLogProbs).value(), 4.711470182590742);
  EXPECT_EQ(BootstrapPerplexityError(kLogProbs, 100).value(), 4.603120563857868);
  EXPECT_EQ(BootstrapPerplexityError(kLogProbs, 1500).value(), 4.52817533559361);
  EXPECT_EQ(BootstrapPerplexityError(kLogProbs, 2000).value(), 4.377293588881815);
  EXPECT_EQ(BootstrapPerplexityError(kLogProbs).value(), 4.280045478514997);
}

TEST(BootstrapTest, FastAndGeneralFormsAgreeForAnyThreadCount) {
  std::vector<double> values;
  PythonRandom random(7);
  for (int i = 0; i < 1001; ++i) values.push_back(-5 * random.Random());
  const double expected = BootstrapError(values, Perplexity, 9000, 2).value();
  for (const int threads : {1, 2, 3, 7}) {
    const double value = BootstrapPerplexityError(values, 9000, threads).value();
    EXPECT_EQ(std::memcmp(&value, &expected, sizeof value), 0) << threads;
  }
}

TEST(BootstrapTest, UndefinedIsNotZero) {
  EXPECT_FALSE(BootstrapPerplexityError({}, 100).has_value());
  EXPECT_FALSE(BootstrapPerplexityError(kLogProbs, 1).has_value());
  EXPECT_FALSE(BootstrapPerplexityError(kLogProbs, 0).has_value());
  const std::vector<double> huge = {-1, -1000};
  EXPECT_FALSE(BootstrapPerplexityError(huge, 100).has_value());
  EXPECT_NE(BootstrapPerplexityError(huge, 100).because(), "");
  EXPECT_FALSE(MeanStandardError(std::vector<double>{1}).has_value());
  EXPECT_FALSE(Mean({}).has_value());
  EXPECT_FALSE(BitsPerByte(std::vector<Weighted>{{-1, 0}}).has_value());
}

TEST(MeanTest, SumsLeftToRight) {
  EXPECT_EQ(Mean(std::vector<double>{1e16, 1, -1e16}).value(), 0);
  EXPECT_EQ(Mean(std::vector<double>{0.1, 0.2, 0.3}).value(), 0.20000000000000004);
  EXPECT_EQ(MeanStandardError(std::vector<double>{1, 0, 1, 1, 0}).value(), 0.24494897427831783);
  EXPECT_EQ(UpperMedian(std::vector<double>{4, 1, 3, 2}).value(), 3);
}

TEST(RoundTest, PythonAndNumpyDiffer) {
  EXPECT_EQ(PythonRound(0.175, 2), 0.17);
  EXPECT_EQ(NumpyRound(0.175, 2), 0.18);
  EXPECT_EQ(PythonRound(2.5, 0), 2);
  EXPECT_EQ(PythonRound(66.66666666, 2), 66.67);
}

TEST(GroupTest, EqualsTheReference) {
  const std::vector<double> values = {0.5, 0.8}, errors = {0.1, 0.2};
  const std::vector<int64_t> sizes = {100, 50}, ones = {1, 1};
  EXPECT_EQ(GroupMean(values, sizes, true).value(), 0.6);
  EXPECT_EQ(GroupMean(values, sizes, false).value(), 0.65);
  EXPECT_EQ(PooledGroupError(errors, sizes).value(), 0.09420124136057802);
  EXPECT_EQ(UnweightedGroupError(errors).value(), 0.1118033988749895);
  EXPECT_EQ(CombinedGroupError(errors, sizes, values).value(), 0.16955000318318592);
  EXPECT_FALSE(PooledGroupError(errors, ones).has_value());
}

}  // namespace
}  // namespace natsl::core::statistics
