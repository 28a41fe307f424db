// matmul in the processor's tiles against the definition of the product; a processor without tiles
// only refuses.
#include "kernels/matmul.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "tests/kernels/product_support.h"

namespace natsl::kernels::testing {
namespace {

constexpr const char* kNoTiles = "this processor has no matrix tiles";

TEST(Matmul, AgreesWithReference) {
  if (!MatmulUsable()) GTEST_SKIP() << kNoTiles;
  Random random(1);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const int64_t m : {0, 1, 31, 32, 33, 129, 300}) {
      for (const auto& [n, k] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1}, {5, 63}, {16, 32}, {33, 64}, {70, 511}, {37, 513}, {31, 1030}, {1057, 65}}) {
        Product product(random, m, n, k, dtype, m % 2 == 0);
        RunMatmulCpu(product.args);
        const Floats actual = product.y.Values();
        RunGemvReference(product.args);
        ExpectClose(
            actual, product.y.Values(), kGemvTolerance,
            "m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k));
      }
    }
  }
}

TEST(Matmul, RowsDoNotDependOnEachOther) {
  if (!MatmulUsable()) GTEST_SKIP() << kNoTiles;
  Random random(2);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Product all(random, 200, 131, 1000, dtype, true);
    RunMatmulCpu(all.args);
    const Floats together = all.y.Values();
    for (const int64_t begin : {0, 1, 31, 128, 170}) {
      constexpr int64_t kRows = 29;
      Floats alone(kRows * 131);
      GemvArgs args = all.args;
      args.x += begin * args.x_stride;
      args.m = kRows;
      args.y = alone.data();
      args.y_stride = 131;
      RunMatmulCpu(args);
      EXPECT_EQ(
          std::memcmp(alone.data(), together.data() + begin * 131, alone.size() * sizeof(float)), 0)
          << "rows from " << begin;
    }
  }
}

TEST(Matmul, SameBytesForAnyTeam) {
  if (!MatmulUsable()) GTEST_SKIP() << kNoTiles;
  ExpectSameBytesForAnyTeam([] {
    Random random(3);
    Product product(random, 300, 1100, 700, DType::kFloat32, true);
    RunMatmulCpu(product.args);
    return product.y.Values();
  });
}

TEST(Matmul, ValuesOfAnySize) {
  if (!MatmulUsable()) GTEST_SKIP() << kNoTiles;
  // The tiles take subnormals for zero, pieces and sums alike.
  constexpr float kLost = 4 * std::numeric_limits<float>::min();
  for (const float value : {1e-30F, 3e-20F, 1.0F + 0x1p-23F, 1.99999988F, 7e10F, 1e30F}) {
    Random random(4);
    Product product(random, 32, 32, 32, DType::kFloat32, false);
    for (int64_t r = 0; r < 32; ++r) {
      for (int64_t c = 0; c < 32; ++c) product.x.At(r, c) = r == c ? value : 0.0F;
    }
    RunMatmulCpu(product.args);
    for (int64_t r = 0; r < 32; ++r) {
      for (int64_t c = 0; c < 32; ++c) {
        const float expected = value * product.floats[static_cast<size_t>(c * 32 + r)];
        EXPECT_LE(std::abs(product.y.At(r, c) - expected), 4e-7F * std::abs(expected) + kLost);
      }
    }
  }
}

TEST(Matmul, NotFiniteStaysNotFinite) {
  if (!MatmulUsable()) GTEST_SKIP() << kNoTiles;
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Random random(5);
    Product product(random, 33, 7, 40, DType::kFloat32, false);
    product.x.At(3, 5) = value;
    RunMatmulCpu(product.args);
    for (int64_t r = 0; r < 33; ++r) {
      for (int64_t c = 0; c < 7; ++c) EXPECT_EQ(std::isfinite(product.y.At(r, c)), r != 3);
    }
  }
}

TEST(Matmul, RefusesWhatItCannotDo) {
  Random random(6);
  Product product(random, 32, 3, 4, DType::kFloat16, true);
  EXPECT_THROW(RunMatmulCpu(product.args), Error);
}

}  // namespace
}  // namespace natsl::kernels::testing
