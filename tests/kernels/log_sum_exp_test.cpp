// log_sum_exp: by hand, and the processor against the definition.
#include "kernels/log_sum_exp.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {
namespace {

struct SumOutcome {
  std::vector<int64_t> argmax;
  std::vector<double> log_sum;
};

SumOutcome Compute(void (*kernel)(const LogSumExpArgs&), const Floats& x, int64_t rows,
                   int64_t width, int64_t stride) {
  SumOutcome outcome{std::vector<int64_t>(static_cast<size_t>(rows)),
                     std::vector<double>(static_cast<size_t>(rows))};
  LogSumExpArgs args;
  args.x = x.data();
  args.x_stride = stride;
  args.rows = rows;
  args.width = width;
  args.argmax = outcome.argmax.data();
  args.log_sum = outcome.log_sum.data();
  Validate(args);
  kernel(args);
  return outcome;
}

TEST(LogSumExp, ByHand) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Floats x = {0, 0, 0, 0, 1, 3, 3, -infinity, -200, -100, -300, -400};
  for (const auto kernel : {RunLogSumExpReference, RunLogSumExpCpu}) {
    const SumOutcome outcome = Compute(kernel, x, 3, 4, 4);
    EXPECT_EQ(outcome.argmax, (std::vector<int64_t>{0, 1, 1}));
    EXPECT_NEAR(outcome.log_sum[0], std::log(4.0), 1e-7);
    EXPECT_NEAR(outcome.log_sum[1], 3 + std::log(2 + std::exp(-2.0)), 1e-7);
    EXPECT_NEAR(outcome.log_sum[2], -100, 1e-7);
  }
}

TEST(LogSumExp, CpuAgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    Random random(1);
    for (const int64_t width : {1, 2, 7, 15, 16, 17, 31, 33, 63, 511, 512, 513, 1000, 50257}) {
      for (const float scale : {0.01F, 1.0F, 30.0F}) {
        constexpr int64_t kRows = 3;
        const int64_t stride = width + 5;
        Floats x = random.Normals(kRows * stride);
        for (float& value : x) value = value * scale - 7;
        const SumOutcome expected = Compute(RunLogSumExpReference, x, kRows, width, stride);
        const SumOutcome actual = Compute(RunLogSumExpCpu, x, kRows, width, stride);
        EXPECT_EQ(actual.argmax, expected.argmax) << target << " width " << width;
        for (size_t r = 0; r < kRows; ++r) {
          EXPECT_NEAR(actual.log_sum[r], expected.log_sum[r], 1e-6)
              << target << " width " << width << " scale " << scale;
        }
      }
    }
  });
}

TEST(LogSumExp, AllEqualOverALongRow) {
  const Floats x(200000, 1.5F);
  EXPECT_NEAR(Compute(RunLogSumExpCpu, x, 1, 200000, 200000).log_sum[0], 1.5 + std::log(200000.0),
              1e-6);
}

TEST(LogSumExp, NotANumberShows) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t place : {0, 5, 39, 40}) {
      Random random(2);
      Floats x = random.Normals(41);
      x[static_cast<size_t>(place)] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(Compute(RunLogSumExpCpu, x, 1, 41, 41).log_sum[0])) << target << place;
    }
  });
}

TEST(LogSumExp, NamesTheArgument) {
  EXPECT_THROW(Compute(RunLogSumExpCpu, {}, 1, 0, 0), Error);
  EXPECT_THROW(Compute(RunLogSumExpCpu, {1, 2, 3}, 2, 2, 1), Error);
}

}  // namespace
}  // namespace natsl::kernels::testing
