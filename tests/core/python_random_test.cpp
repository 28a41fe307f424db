// Vectors of CPython 3.11 and NumPy 1.24.
#include "core/python_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace natsl::core {
namespace {

using ::testing::ElementsAre;

TEST(PythonRandom, FirstDrawsOfSeeds) {
  PythonRandom a(1234);
  EXPECT_EQ(a.NextU32(), 4150886329u);
  EXPECT_EQ(a.NextU32(), 3342196574u);
  EXPECT_EQ(a.NextU32(), 1892932127u);
  PythonRandom b(0);
  EXPECT_EQ(b.Random(), 0.8444218515250481);
  EXPECT_EQ(b.Random(), 0.7579544029403025);
  EXPECT_THAT(PythonRandom(0).Choices(10, 10), ElementsAre(8, 7, 4, 2, 5, 4, 7, 3, 4, 5));
  EXPECT_EQ(PythonRandom(42).RandInt(1000000, 9999999), 2867825);
  EXPECT_EQ(PythonRandom(42).Uuid4(), "bdd640fb-0667-4ad1-9c80-317fa3b1799d");
}

TEST(PythonRandom, SamplesByPoolAndBySet) {
  EXPECT_THAT(PythonRandom(1234).Sample(100, 5), ElementsAre(99, 56, 14, 0, 11));
  PythonRandom consecutive(1234);
  EXPECT_THAT(consecutive.Sample(1119, 5), ElementsAre(902, 239, 15, 185, 71));
  EXPECT_THAT(consecutive.Sample(1119, 5), ElementsAre(171, 201, 726, 484, 35));
  EXPECT_THAT(PythonRandom(1234).Sample(39905, 6),
              ElementsAre(28883, 7657, 490, 5940, 38156, 2288));
  EXPECT_THAT(PythonRandom(42).Sample(40, 4), ElementsAre(7, 1, 17, 15));
  EXPECT_THAT(PythonRandom(42).Sample(1000, 4), ElementsAre(654, 114, 25, 759));
}

TEST(PythonRandom, Shuffles) {
  std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  PythonRandom(42).Shuffle(items);
  EXPECT_THAT(items, ElementsAre(7, 3, 2, 8, 5, 6, 9, 4, 0, 1));
}

TEST(NumpyLegacyRandom, FirstDraws) {
  NumpyLegacyRandom words(42);
  EXPECT_EQ(words.NextU32(), 1608637542u);
  EXPECT_EQ(words.NextU32(), 3421126067u);
  NumpyLegacyRandom numbers(42);
  for (const int64_t expected : {25795, 10860, 86820, 64886, 16265}) {
    EXPECT_EQ(numbers.RandInt(10000, 99999), expected);
  }
}

}  // namespace
}  // namespace natsl::core
