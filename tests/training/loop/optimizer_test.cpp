// AdamW against its definition in double.
#include "training/loop/optimizer.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace natsl::training {
namespace {

constexpr int64_t kSize = 5;  // a matrix of 2x2, a vector of one

std::map<std::string, at::Tensor> Parameters() {
  return {{"a", at::tensor({1.0f, -2.0f, 0.5f, 3.0f}).view({2, 2}).requires_grad_()},
          {"b", at::tensor({0.75f}).requires_grad_()}};
}

at::Tensor Gradient(int64_t step) {
  std::vector<float> values;
  for (int64_t i = 0; i < kSize; ++i) {
    values.push_back(0.3f * static_cast<float>(i + 1) * (((i + step) % 2 == 0) ? 1.0f : -0.5f));
  }
  return at::tensor(values);
}

TEST(AdamW, FollowsItsDefinition) {
  const AdamWOptions options{
      .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .weight_decay = 0.1, .clip = 1.0};
  const ScheduleOptions schedule{.steps = 6, .warmup = 2, .lr = 0.05, .min_lr = 0.01};
  const auto parameters = Parameters();
  AdamW adam(parameters, options, schedule);
  EXPECT_EQ(adam.size(), kSize);

  std::vector<double> p = {1.0, -2.0, 0.5, 3.0, 0.75}, m(kSize), v(kSize);
  for (int64_t step = 0; step < 6; ++step) {
    const at::Tensor gradient = Gradient(step);
    adam.Step(gradient);
    double norm = 0;
    for (int64_t i = 0; i < kSize; ++i) norm += std::pow(gradient[i].item<double>(), 2);
    norm = std::sqrt(norm);
    EXPECT_NEAR(adam.gradient_norm().item<double>(), norm, 1e-6);
    const double scale = std::min(1.0, options.clip / (norm + 1e-6));
    const double lr = LearningRate(schedule, step);
    const auto t = static_cast<double>(step + 1);
    for (size_t i = 0; i < kSize; ++i) {
      const double g = gradient[static_cast<int64_t>(i)].item<double>() * scale;
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      const double first = m[i] / (1 - std::pow(options.beta1, t));
      const double second = v[i] / (1 - std::pow(options.beta2, t));
      if (i < 4) p[i] -= lr * options.weight_decay * p[i];  // matrices alone
      p[i] -= lr * first / (std::sqrt(second) + options.eps);
    }
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(parameters.at("a").view({-1})[i].item<double>(), p[static_cast<size_t>(i)], 2e-6)
          << "step " << step;
    }
    EXPECT_NEAR(parameters.at("b")[0].item<double>(), p[4], 2e-6);
  }
}

TEST(AdamW, GoesOnFromItsState) {
  const ScheduleOptions schedule{.steps = 8, .warmup = 0, .lr = 0.1, .min_lr = 0.1};
  const auto whole_parameters = Parameters(), other_parameters = Parameters();
  AdamW whole(whole_parameters, {}, schedule), other(other_parameters, {}, schedule);
  for (int64_t step = 0; step < 3; ++step) whole.Step(Gradient(step));
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : whole.State()) state[name] = tensor.clone();
  other.Load(state);
  for (int64_t step = 3; step < 6; ++step) {
    whole.Step(Gradient(step));
    other.Step(Gradient(step));
  }
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(at::equal(whole_parameters.at(name), other_parameters.at(name)));
  }
  state["first"] = at::zeros({2});
  EXPECT_THROW(other.Load(state), Error);
}

TEST(AdamW, ClipsByTheNormOfAllGradients) {
  const ScheduleOptions schedule{.steps = 1, .warmup = 0, .lr = 0.1, .min_lr = 0.1};
  const auto parameters = Parameters();
  // Without moments' memory a step's size doesn't depend on the gradient's: look at the moment.
  AdamW adam(parameters, {.clip = 0.5}, schedule);
  adam.Step(at::full({kSize}, 10.0f));
  const double each = 0.5 / std::sqrt(static_cast<double>(kSize));
  EXPECT_NEAR(adam.State().at("first")[0].item<double>(), 0.1 * each, 1e-6);
}

}  // namespace
}  // namespace natsl::training
