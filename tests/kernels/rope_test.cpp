// Rotary embedding: the definition against closed forms, the processor against the definition.
#include "kernels/rope.h"

#include <numbers>

#include "core/error.h"
#include "tests/kernels/dense_support.h"

namespace natsl::kernels::testing {
namespace {

Floats InverseFrequencies(int64_t dims, double base) {
  Floats result;
  for (int64_t i = 0; i < dims / 2; ++i) {
    result.push_back(static_cast<float>(
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dims))));
  }
  return result;
}

struct RopeProblem {
  RopeProblem(uint64_t seed, std::vector<int64_t> at, int64_t heads, int64_t head_dim, int64_t dims)
      : RopeProblem(Random(seed), std::move(at), heads, head_dim, dims) {}
  RopeProblem(Random random, std::vector<int64_t> at, int64_t heads, int64_t head_dim, int64_t dims)
      : positions(std::move(at)),
        x(Matrix::Normals(random, static_cast<int64_t>(positions.size()), heads * head_dim, 3)),
        inverse(InverseFrequencies(dims, 10000)) {
    args.x = x.data();
    args.x_stride = x.stride();
    args.positions = positions.data();
    args.inverse_frequencies = inverse.data();
    args.tokens = static_cast<int64_t>(positions.size());
    args.heads = heads;
    args.head_dim = head_dim;
    args.dims = dims;
  }
  std::vector<int64_t> positions;
  Matrix x;
  Floats inverse;
  RopeArgs args;
};

std::vector<int64_t> Positions(int64_t count, int64_t first, int64_t step) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(first + i * step);
  return positions;
}

TEST(RopeReference, QuarterTurnsAndUntouchedChannels) {
  // Pair (0, 2) turns by pi/2 a position, pair (1, 3) not at all; channel 4 is outside.
  const Floats inverse = {std::numbers::pi_v<float> / 2, 0};
  const std::vector<int64_t> positions = {1, 2};
  Floats x = {3, 5, 4, 6, 7, 3, 5, 4, 6, 7};
  RopeArgs args;
  args.x = x.data();
  args.x_stride = 5;
  args.positions = positions.data();
  args.inverse_frequencies = inverse.data();
  args.tokens = 2;
  args.heads = 1;
  args.head_dim = 5;
  args.dims = 4;
  Validate(args);
  RunRopeReference(args);
  const Floats expected = {-4, 5, 3, 6, 7, -3, 5, -4, 6, 7};
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-6) << i;
}

TEST(RopeReference, AngleIsAFloatProductAndFactorScales) {
  const Floats inverse = {0.3333333F};
  const std::vector<int64_t> positions = {999983};
  Floats x = {1, 0};
  RopeArgs args;
  args.x = x.data();
  args.positions = positions.data();
  args.inverse_frequencies = inverse.data();
  args.attention_factor = 2;
  args.tokens = args.heads = 1;
  args.head_dim = args.dims = 2;
  RunRopeReference(args);
  const float angle = 999983.0F * 0.3333333F;
  EXPECT_FLOAT_EQ(x[0], static_cast<float>(2 * std::cos(static_cast<double>(angle))));
  EXPECT_FLOAT_EQ(x[1], static_cast<float>(2 * std::sin(static_cast<double>(angle))));
}

TEST(RopeCpu, AgreesWithReference) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t tokens : {0, 1, 63, 64, 65, 131, 1000}) {
      for (const auto& [head_dim, dims] : std::vector<std::pair<int64_t, int64_t>>{
               {2, 2}, {24, 24}, {40, 10}, {64, 64}, {80, 0}, {128, 32}, {256, 256}}) {
        if (tokens > 131 && head_dim > 64) continue;
        RopeProblem actual(1, Positions(tokens, 5, 37), 3, head_dim, dims);
        RopeProblem expected(1, Positions(tokens, 5, 37), 3, head_dim, dims);
        actual.args.attention_factor = expected.args.attention_factor = 1.25F;
        Validate(actual.args);
        RunRopeCpu(actual.args);
        RunRopeReference(expected.args);
        ExpectClose(actual.x.Values(), expected.x.Values(), kRopeTolerance,
                    target + " dim " + std::to_string(head_dim));
      }
    }
  });
}

TEST(RopeCpu, FarPositionsAndBeyondTheVectorRange) {
  ForEachTarget([](const std::string& target) {
    for (const int64_t first : {65535L, 999000L, 1048570L, 2000000000L}) {
      RopeProblem actual(2, Positions(40, first, 1), 2, 64, 64);
      RopeProblem expected(2, Positions(40, first, 1), 2, 64, 64);
      RunRopeCpu(actual.args);
      RunRopeReference(expected.args);
      ExpectClose(actual.x.Values(), expected.x.Values(), kRopeTolerance,
                  target + " from " + std::to_string(first));
    }
  });
}

TEST(RopeCpu, SameBytesForAnyTeam) {
  ExpectSameBytesForAnyTeam([] {
    RopeProblem problem(3, Positions(301, 0, 1), 4, 80, 80);
    RunRopeCpu(problem.args);
    return problem.x.Values();
  });
}

TEST(RopeValidate, NamesTheArgument) {
  RopeProblem problem(4, Positions(2, 0, 1), 2, 8, 8);
  Validate(problem.args);
  problem.args.dims = 7;
  try {
    Validate(problem.args);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rope: dims is 7, expected an even number up to head_dim = 8");
  }
}

}  // namespace
}  // namespace natsl::kernels::testing
