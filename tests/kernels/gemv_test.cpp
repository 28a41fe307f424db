// gemv: the definition against hand-made values, the processor against the definition.
#include "kernels/gemv.h"

#include <bit>
#include <limits>

#include "core/error.h"
#include "tests/kernels/product_support.h"

namespace natsl::kernels::testing {
namespace {

TEST(GemvReference, HandValues) {
  const Floats x = {1, 2, 3, -1, 0, 0.5F};
  const Floats weight = {1, 0, 0, 2, -1, 4};
  const Floats bias = {10, 20};
  Floats y(4);
  GemvArgs args;
  args.x = x.data();
  args.x_stride = 3;
  args.weight = weight.data();
  args.bias = bias.data();
  args.y = y.data();
  args.y_stride = 2;
  args.m = 2;
  args.n = 2;
  args.k = 3;
  Validate(args);
  RunGemvReference(args);
  EXPECT_EQ(y, (Floats{11, 32, 9, 20}));
}

TEST(GemvReference, SixteenBitWeights) {
  const Floats x = {1};
  Floats y(7);
  GemvArgs args;
  args.x = x.data();
  args.y = y.data();
  args.m = 1;
  args.n = 5;
  args.k = 1;
  // 1, -2, the smallest subnormal, the largest subnormal, the largest finite half.
  const std::vector<uint16_t> halves = {0x3C00, 0xC000, 0x0001, 0x03FF, 0x7BFF};
  args.weight = halves.data();
  args.weight_dtype = DType::kFloat16;
  RunGemvReference(args);
  EXPECT_EQ(y[0], 1.0F);
  EXPECT_EQ(y[1], -2.0F);
  EXPECT_EQ(y[2], 0x1p-24F);
  EXPECT_EQ(y[3], 1023 * 0x1p-24F);
  EXPECT_EQ(y[4], 65504.0F);
  const std::vector<uint16_t> brains = {0x3F80, 0xC000, 0x0001, 0x7F7F, 0x3DCC};
  args.weight = brains.data();
  args.weight_dtype = DType::kBFloat16;
  RunGemvReference(args);
  EXPECT_EQ(y[0], 1.0F);
  EXPECT_EQ(y[1], -2.0F);
  EXPECT_EQ(y[2], 0x1p-133F);
  EXPECT_EQ(y[3], 0x1.FEp127F);
  EXPECT_EQ(y[4], 0.099609375F);
}

TEST(GemvCpu, AgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    Random random(1);
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      for (const int64_t m : {0, 1, 2, 3, 4, 5, 7, 8, 16}) {
        for (const auto& [n, k] : std::vector<std::pair<int64_t, int64_t>>{
                 {1, 1}, {3, 0}, {0, 8}, {5, 63}, {33, 64}, {70, 65}, {37, 131}, {131, 1000}}) {
          Product expected(random, m, n, k, dtype, m % 2 == 0);
          Validate(expected.args);
          RunGemvCpu(expected.args);
          const Floats actual = expected.y.Values();
          RunGemvReference(expected.args);
          ExpectClose(actual, expected.y.Values(), kGemvTolerance,
                      target + " m " + std::to_string(m) + " n " + std::to_string(n) + " k " +
                          std::to_string(k));
        }
      }
    }
  });
}

TEST(GemvCpu, RowsDoNotDependOnEachOther) {
  Random random(2);
  Product all(random, 16, 131, 1000, DType::kBFloat16, true);
  RunGemvCpu(all.args);
  const Floats together = all.y.Values();
  for (int64_t row = 0; row < 16; ++row) {
    Floats alone(131);
    GemvArgs args = all.args;
    args.x += row * args.x_stride;
    args.m = 1;
    args.y = alone.data();
    RunGemvCpu(args);
    for (int64_t i = 0; i < 131; ++i) {
      EXPECT_EQ(alone[static_cast<size_t>(i)], together[static_cast<size_t>(row * 131 + i)]);
    }
  }
}

TEST(GemvCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    Random random(3);
    Product problem(random, 3, 777, 513, DType::kFloat16, true);
    RunGemvCpu(problem.args);
    return problem.y.Values();
  });
}

TEST(ConvertToFloat32, EverySixteenBitPattern) {
  ForEachTarget([](const std::string& target) {
    std::vector<uint16_t> bits(65536 + 7);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    const auto count = static_cast<int64_t>(bits.size());
    Floats converted(bits.size() + 1, -7.0F);
    ConvertToFloat32(bits.data(), DType::kBFloat16, converted.data(), count);
    for (size_t i = 0; i < bits.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(converted[i]), static_cast<uint32_t>(bits[i]) << 16)
          << target;
    }
    EXPECT_EQ(converted.back(), -7.0F);
    ConvertToFloat32(bits.data(), DType::kFloat16, converted.data(), count);
    for (size_t i = 0; i < bits.size(); ++i) {
      const int exponent = (bits[i] >> 10) & 31;
      const int mantissa = bits[i] & 1023;
      float expected =
          exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                        : std::ldexp(1.0F + static_cast<float>(mantissa) / 1024.0F, exponent - 15);
      if (exponent == 31) expected = std::numeric_limits<float>::infinity();
      if (exponent == 31 && mantissa != 0) {
        ASSERT_TRUE(std::isnan(converted[i])) << target << " " << i;
      } else {
        ASSERT_EQ(converted[i], bits[i] >> 15 ? -expected : expected) << target << " " << i;
      }
    }
  });
}

TEST(ConvertToFloat32, NamesAWrongDtype) {
  EXPECT_THROW(ConvertToFloat32(nullptr, DType::kFloat32, nullptr, 0), Error);
}

TEST(GemvValidate, NamesTheArgument) {
  Random random(4);
  const auto message = [&](const std::function<void(GemvArgs&)>& spoil) -> std::string {
    Product problem(random, 2, 3, 4, DType::kFloat32, true);
    Validate(problem.args);
    spoil(problem.args);
    try {
      Validate(problem.args);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](GemvArgs& args) { args.m = -1; }),
            "gemv: sizes are m -1, n 3, k 4, expected all >= 0");
  EXPECT_EQ(message([](GemvArgs& args) { args.weight_dtype = DType::kInt32; }),
            "gemv: weight_dtype is int32, expected float32, bfloat16 or float16");
  EXPECT_EQ(message([](GemvArgs& args) { args.weight = nullptr; }), "gemv: weight is null");
  EXPECT_EQ(message([](GemvArgs& args) { args.x_stride = 3; }),
            "gemv: x_stride is 3, expected >= k = 4");
  EXPECT_EQ(message([](GemvArgs& args) { args.y_stride = 2; }),
            "gemv: y_stride is 2, expected >= n = 3");
}

}  // namespace
}  // namespace natsl::kernels::testing
