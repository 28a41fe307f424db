// The layers' operators with gradients of their own against the same by composition, in float64.
#include "training/layers/ops.h"

#include <ATen/ops/conv1d.h>
#include <gtest/gtest.h>

#include "model_adapters/native/torch_headers.h"
#include "tests/training/forms/recurrences.h"

namespace natsl::training {
namespace {

constexpr double kTolerance = 1e-12;

TEST(OpsTest, NormalizeHeads) {
  for (const bool heads_first : {false, true}) {
    ExpectEqualForms([&](const auto& x) { return NormalizeHeads(x[0], 0.3, 0.01, heads_first); },
                     [&](const auto& x) {
                       const at::Tensor norm = (x[0].square().sum(3, true) + 0.01).sqrt();
                       const at::Tensor y = 0.3 * x[0] / norm;
                       return heads_first ? y.transpose(1, 2) : y;
                     },
                     {Random({2, 5, 3, 4}, 1)}, kTolerance);
  }
  EXPECT_TRUE(NormalizeHeads(Random({2, 5, 3, 4}, 1), 1, 0, true).is_contiguous());
}

TEST(OpsTest, RmsHeadsWithWeightAndGate) {
  const std::vector<at::Tensor> inputs = {Random({2, 5, 3, 4}, 1), Random({4}, 2),
                                          Random({2, 5, 3, 4}, 3)};
  const auto normed = [](const at::Tensor& x) {
    return x / (x.square().mean(3, true) + 0.02).sqrt();
  };
  ExpectEqualForms([](const auto& x) { return RmsHeads(x[0], 0.02, x[1], x[2]); },
                   [&](const auto& x) { return normed(x[0]) * x[1] * at::silu(x[2]); }, inputs,
                   kTolerance);
  ExpectEqualForms([](const auto& x) { return RmsHeads(x[0], 0.02, x[1]); },
                   [&](const auto& x) { return normed(x[0]) * x[1]; }, {inputs[0], inputs[1]},
                   kTolerance);
  ExpectEqualForms([](const auto& x) { return RmsHeads(x[0], 0.02, {}, x[1]); },
                   [&](const auto& x) { return normed(x[0]) * at::silu(x[1]); },
                   {inputs[0], inputs[2]}, kTolerance);
  // Heads first in memory.
  ExpectEqualForms(
      [](const auto& x) { return RmsHeads(x[0].transpose(1, 2), 0.02, x[1], x[2]); },
      [&](const auto& x) { return normed(x[0].transpose(1, 2)) * x[1] * at::silu(x[2]); },
      {Random({2, 3, 5, 4}, 1), inputs[1], inputs[2]}, kTolerance);
}

TEST(OpsTest, SwiGlu) {
  ExpectEqualForms(
      [](const auto& x) { return SwiGlu(x[0]); },
      [](const auto& x) { return at::silu(x[0].narrow(2, 0, 3)) * x[0].narrow(2, 3, 3); },
      {Random({2, 5, 6}, 1)}, kTolerance);
}

TEST(OpsTest, ShortConv) {
  const std::vector<at::Tensor> inputs = {Random({2, 9, 5}, 1), Random({5, 1, 4}, 2),
                                          Random({5}, 3)};
  const auto plain = [](const at::Tensor& x, const at::Tensor& weight) {
    return at::conv1d(at::constant_pad_nd(x.transpose(1, 2), {3, 0}), weight, std::nullopt,
                      at::IntArrayRef{1}, at::IntArrayRef{0}, at::IntArrayRef{1}, 5)
        .transpose(1, 2);
  };
  ExpectEqualForms([](const auto& x) { return ShortConv(x[0], x[1], x[2], true); },
                   [&](const auto& x) { return at::silu(plain(x[0], x[1]) + x[2]); }, inputs,
                   kTolerance);
  ExpectEqualForms([](const auto& x) { return ShortConv(x[0], x[1], {}, false); },
                   [&](const auto& x) { return plain(x[0], x[1]); }, {inputs[0], inputs[1]},
                   kTolerance);
  // Fewer tokens than taps.
  ExpectEqualForms([](const auto& x) { return ShortConv(x[0], x[1], {}, true); },
                   [&](const auto& x) { return at::silu(plain(x[0], x[1])); },
                   {Random({2, 2, 5}, 1), inputs[1]}, kTolerance);
}

TEST(OpsTest, RotateTurnsHalvesAndLeavesTheRest) {
  const at::Tensor angles = Random({5, 2}, 1);
  const at::Tensor cosines = angles.cos(), sines = angles.sin();
  ExpectEqualForms(
      [&](const auto& x) { return Rotate(x[0], cosines, sines); },
      [&](const auto& x) {
        const at::Tensor c = cosines.unsqueeze(1), s = sines.unsqueeze(1);
        const at::Tensor first = x[0].narrow(3, 0, 2), second = x[0].narrow(3, 2, 2);
        return at::cat({first * c - second * s, first * s + second * c, x[0].narrow(3, 4, 1)}, 3);
      },
      {Random({2, 5, 3, 5}, 2)}, kTolerance);
}

TEST(OpsTest, LinearManySplitsOneProduct) {
  const std::vector<at::Tensor> inputs = {Random({2, 5, 4}, 1), Random({3, 4}, 2),
                                          Random({70, 4}, 3)};
  ExpectEqualForms(
      [](const auto& x) {
        const std::vector<at::Tensor> parts = LinearMany(x[0], {x[1], x[2]});
        return at::cat({parts[0], parts[1].tanh()}, 2);
      },
      [](const auto& x) {
        return at::cat({at::linear(x[0], x[1]), at::linear(x[0], x[2]).tanh()}, 2);
      },
      inputs, kTolerance);
}

TEST(OpsTest, ShiftDifference) {
  const at::Tensor x = Random({1, 3, 2}, 1);
  const at::Tensor y = ShiftDifference(x);
  EXPECT_EQ(Difference(y[0][0], -x[0][0]), 0);
  EXPECT_EQ(Difference(y[0][2], x[0][1] - x[0][2]), 0);
}

}  // namespace
}  // namespace natsl::training
