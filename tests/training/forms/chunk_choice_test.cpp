// NAtS-L's straight-through gradient of the chunks' scores: against finite differences of the same
// layer with soft gates, in float64.
#include "training/layers/chunk_choice.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model_adapters/native/torch_headers.h"
#include "tests/training/forms/recurrences.h"
#include "training/forms/chunk_attention.h"
#include "training/network.h"

namespace natsl::training {
namespace {

constexpr int64_t kTokens = 256, kHidden = 10, kHeads = 2, kWidth = 4;

// A layer's two branches over fixed inputs: what the gates change of the loss.
class Branches {
 public:
  Branches() {
    delta_.q = Random({1, kHeads, kTokens, kWidth}, 1) / 2;
    const at::Tensor k = Random({1, kHeads, kTokens, kWidth}, 2);
    delta_.k = k / k.norm(2, {3}, true);
    delta_.v = Random({1, kHeads, kTokens, kWidth}, 3);
    delta_.beta = Random({1, kHeads, kTokens}, 4).sigmoid();
    delta_.g = Random({1, kHeads, kTokens}, 5).sigmoid() * -0.05;
    delta_.decay_over_dropped = true;
  }

  at::Tensor Loss(const at::Tensor& chosen, const at::Tensor& softmax_gate,
                  const at::Tensor& linear_gate) const {
    DeltaRuleInputs inputs = delta_;
    inputs.keep = linear_gate;
    const at::Tensor attention =
        ChunkAttention(delta_.q, delta_.k, delta_.v, chosen, softmax_gate, 0.5);
    const at::Tensor functional = Random({1, kHeads, kTokens, kWidth}, 6);
    return ((attention + DeltaRule(inputs)).tanh() * functional).sum();
  }

 private:
  DeltaRuleInputs delta_;
};

TEST(ChunkChoiceTest, GradientOfScoresEqualsFiniteDifferencesOfSoftGates) {
  const Branches branches;
  const at::Tensor h = Random({1, kTokens, kHidden}, 7).cumsum(1) / 10;
  at::Tensor weight = Random({2 * kHeads, kHidden}, 8);
  weight.set_requires_grad(true);
  std::vector<at::Tensor> shares;
  const ChunkChoice choice = ChooseChunks(h, weight, kHeads, &shares);
  const double softmax_chunks = choice.softmax.sum().item<double>();
  ASSERT_GT(softmax_chunks, 0);
  ASSERT_LT(softmax_chunks, kHeads * 4);
  EXPECT_EQ(shares[0].sum().item<double>() * 4, softmax_chunks);
  branches.Loss(choice.softmax, choice.softmax_gate, choice.linear_gate).backward();

  // Gates 1 + y(W) - y(W_0) on the chosen operations, the choice held.
  const at::NoGradGuard no_grad;
  const auto soft = [&](const at::Tensor& w) {
    const at::Tensor pooled = h.view({1, 4, kChunkTokens, kHidden}).mean(2);
    return at::linear(pooled, w).view({1, 4, kHeads, 2}).softmax(3).permute({3, 0, 2, 1});
  };
  const at::Tensor at_start = soft(weight);
  const auto loss = [&](const at::Tensor& w) {
    const at::Tensor gates = soft(w) - at_start + 1;
    return branches.Loss(choice.softmax, gates[0], gates[1] * choice.softmax.logical_not())
        .item<double>();
  };
  const double step = 1e-5;
  at::Tensor differences = at::empty_like(weight);
  for (int64_t i = 0; i < weight.numel(); ++i) {
    at::Tensor up = weight.detach().clone(), down = weight.detach().clone();
    up.view(-1)[i] += step;
    down.view(-1)[i] -= step;
    differences.view(-1)[i] = (loss(up) - loss(down)) / (2 * step);
  }
  EXPECT_GT(differences.abs().max().item<double>(), 1e-2);
  EXPECT_LE(Difference(weight.grad(), differences), 1e-7);
}

TEST(ChunkChoiceTest, AnIncompleteChunkIsConstantAndTiesGoToAttention) {
  at::Tensor weight = at::zeros({2, kHidden}, at::kDouble).set_requires_grad(true);
  const ChunkChoice choice = ChooseChunks(Random({1, 100, kHidden}, 9), weight, 1, nullptr);
  EXPECT_EQ(choice.softmax.sizes(), (std::vector<int64_t>{1, 1, 2}));
  EXPECT_TRUE(choice.softmax.all().item<bool>());
  EXPECT_EQ(choice.linear_gate[0][0][0].item<double>(), 0);
  choice.softmax_gate[0][0][1].backward();
  EXPECT_EQ(weight.grad().abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace natsl::training
