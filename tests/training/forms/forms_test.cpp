// Every chunked form against its recurrence in float64: values and gradients, lengths around the
// chunk, decays near 0 and near 1.
#include <ATen/ops/diag_embed.h>
#include <ATen/ops/eye.h>
#include <gtest/gtest.h>

#include "model_adapters/native/torch_headers.h"
#include "tests/training/forms/recurrences.h"
#include "training/forms/chunk_attention.h"
#include "training/forms/linear_attention.h"
#include "training/forms/unit_lower_inverse.h"

namespace natsl::training {
namespace {

constexpr double kFormTolerance = 1e-10;

struct DecayCase {
  const char* name;
  double low, high;  // log decay a token
};
constexpr DecayCase kDecays[] = {{"near one", -1e-4, 0}, {"usual", -2, 0}, {"near zero", -80, -20}};

at::Tensor Uniform(std::vector<int64_t> shape, uint64_t seed, double low, double high) {
  return Random(std::move(shape), seed)
      .div(std::sqrt(2))
      .erf()
      .add(1)
      .mul((high - low) / 2)
      .add(low);
}

at::Tensor Unit(const at::Tensor& x) { return x / x.norm(2, {3}, true); }

struct Case {
  int64_t tokens;
  DecayCase decay;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DecayCase& decay : kDecays) cases.push_back({150, decay});
  for (const int64_t tokens : {1, 63, 64, 65, 192}) cases.push_back({tokens, kDecays[1]});
  return cases;
}

TEST(FormsTest, DeltaRule) {
  for (const auto& [tokens, decay] : Cases()) {
    SCOPED_TRACE(fmt::format("{} tokens, decay {}", tokens, decay.name));
    const std::vector<at::Tensor> inputs = {
        Unit(Random({2, 2, tokens, 8}, 1)), Unit(Random({2, 2, tokens, 8}, 2)),
        Random({2, 2, tokens, 6}, 3), Uniform({2, 2, tokens}, 4, 0, 1),
        Uniform({2, 2, tokens}, 5, decay.low, decay.high)};
    const auto pack = [](const std::vector<at::Tensor>& x) {
      return DeltaRuleInputs{.q = x[0], .k = x[1], .v = x[2], .beta = x[3], .g = x[4], .keep = {}};
    };
    ExpectEqualForms([&](const auto& x) { return DeltaRule(pack(x)); },
                     [&](const auto& x) { return DeltaRecurrence(pack(x)); }, inputs,
                     kFormTolerance);
  }
}

TEST(FormsTest, DeltaRuleWithoutDecayAndWithNegativeEigenvalues) {
  const std::vector<at::Tensor> inputs = {Unit(Random({1, 2, 150, 8}, 1)),
                                          Unit(Random({1, 2, 150, 8}, 2)),
                                          Random({1, 2, 150, 6}, 3), Uniform({1, 2, 150}, 4, 0, 2)};
  const auto pack = [](const std::vector<at::Tensor>& x) {
    return DeltaRuleInputs{.q = x[0], .k = x[1], .v = x[2], .beta = x[3], .g = {}, .keep = {}};
  };
  ExpectEqualForms([&](const auto& x) { return DeltaRule(pack(x)); },
                   [&](const auto& x) { return DeltaRecurrence(pack(x)); }, inputs, 1e-9);
}

TEST(FormsTest, DeltaRuleThatDropsChunks) {
  const at::Tensor keep = at::tensor({0., 1., 0., 1., 0., 0., 1., 1.}, at::kDouble).view({1, 2, 4});
  const std::vector<at::Tensor> inputs = {
      Unit(Random({1, 2, 256, 8}, 1)), Unit(Random({1, 2, 256, 8}, 2)),  Random({1, 2, 256, 6}, 3),
      Uniform({1, 2, 256}, 4, 0, 1),   Uniform({1, 2, 256}, 5, -0.1, 0), keep};
  for (const bool decay_over_dropped : {false, true}) {
    const auto pack = [&](const std::vector<at::Tensor>& x) {
      return DeltaRuleInputs{.q = x[0],
                             .k = x[1],
                             .v = x[2],
                             .beta = x[3],
                             .g = x[4],
                             .keep = x[5],
                             .decay_over_dropped = decay_over_dropped};
    };
    ExpectEqualForms([&](const auto& x) { return DeltaRule(pack(x)); },
                     [&](const auto& x) { return DeltaRecurrence(pack(x)); }, inputs,
                     kFormTolerance);
  }
}

TEST(FormsTest, ScalarDecay) {
  for (const auto& [tokens, decay] : Cases()) {
    SCOPED_TRACE(fmt::format("{} tokens, decay {}", tokens, decay.name));
    ExpectEqualForms(
        [](const auto& x) { return ScalarDecayAttention(x[0], x[1], x[2], x[3]); },
        [](const auto& x) { return LinearRecurrence(x[0], x[1], x[2], x[3]); },
        {Random({2, 2, tokens, 8}, 1), Random({2, 2, tokens, 8}, 2), Random({2, 2, tokens, 6}, 3),
         Uniform({2, 2, tokens}, 4, decay.low, decay.high)},
        kFormTolerance);
  }
}

TEST(FormsTest, VectorDecay) {
  for (const auto& [tokens, decay] : Cases()) {
    SCOPED_TRACE(fmt::format("{} tokens, decay {}", tokens, decay.name));
    const std::vector<at::Tensor> inputs = {
        Random({2, 2, tokens, 8}, 1), Random({2, 2, tokens, 8}, 2), Random({2, 2, tokens, 6}, 3),
        Uniform({2, 2, tokens, 8}, 4, decay.low, decay.high), Random({2, 8}, 5)};
    ExpectEqualForms(
        [](const auto& x) { return VectorDecayAttention(x[0], x[1], x[2], x[3]) + 0 * x[4].sum(); },
        [](const auto& x) { return LinearRecurrence(x[0], x[1], x[2], x[3]) + 0 * x[4].sum(); },
        inputs, kFormTolerance);
    SCOPED_TRACE("bonus");
    ExpectEqualForms(
        [](const auto& x) { return VectorDecayAttention(x[0], x[1], x[2], x[3], x[4]); },
        [](const auto& x) { return LinearRecurrence(x[0], x[1], x[2], x[3], x[4]); }, inputs,
        kFormTolerance);
  }
}

TEST(FormsTest, Scan) {
  for (const auto& [tokens, decay] : Cases()) {
    SCOPED_TRACE(fmt::format("{} tokens, decay {}", tokens, decay.name));
    ExpectEqualForms([](const auto& x) { return GatedScan(x[0], x[1]); },
                     [](const auto& x) { return ScanRecurrence(x[0], x[1]); },
                     {Random({2, tokens, 5}, 1), Uniform({2, tokens, 5}, 2, decay.low, decay.high)},
                     kFormTolerance);
  }
}

TEST(FormsTest, ChunkAttention) {
  const at::Tensor chosen = at::tensor({1, 0, 1, 0, 1, 1}, at::kLong).to(at::kBool).view({1, 2, 3});
  for (const double gate : {1.0, 0.7}) {
    ExpectEqualForms(
        [&](const auto& x) { return ChunkAttention(x[0], x[1], x[2], chosen, x[3], 0.3); },
        [&](const auto& x) { return GatedAttention(x[0], x[1], x[2], chosen, x[3], 0.3); },
        {Random({1, 2, 140, 4}, 1), Random({1, 2, 140, 4}, 2), Random({1, 2, 140, 3}, 3),
         at::full({1, 2, 3}, gate, at::kDouble)},
        kFormTolerance);
  }
}

TEST(FormsTest, InverseOfEqualKeysIsExact) {
  // The worst case for powers of the matrix: all ones below the diagonal, whose inverse is
  // bidiagonal while its powers grow to 1e18.
  const at::Tensor ones = at::ones({3, 64, 64}, at::kFloat).tril(-1);
  const at::Tensor eye = at::eye(64, at::kFloat);
  const at::Tensor expected = eye - at::diag_embed(at::ones({63}, at::kFloat), -1);
  EXPECT_EQ(Difference(UnitLowerInverse(ones), expected.expand({3, 64, 64})), 0);
}

}  // namespace
}  // namespace natsl::training
