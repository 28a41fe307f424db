// The layers on a GPU: the module's kernels against the composed operators in float64 on the CPU,
// and whole networks, losses and gradients, against the CPU.
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/training/evaluation.h"
#include "tests/training/forms/recurrences.h"
#include "training/forms/delta_rule.h"
#include "training/layers/device_ops.h"
#include "training/layers/ops.h"

namespace natsl::training {
namespace {

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "no GPU here";
    static void* const module = dlopen(NATSL_BINARY_DIR "/natsl_train_cuda.so", RTLD_NOW);
    static const std::string failure = module == nullptr ? dlerror() : "";
    ASSERT_EQ(failure, "");
    if (at::detail::getCUDAHooks().deviceCount() == 0) GTEST_SKIP() << "no GPU is usable here";
    at::globalContext().lazyInitDevice(at::kCUDA);
    void* const symbol = dlsym(module, "natsl_cuda_training_ops");
    ASSERT_NE(symbol, nullptr);
    UseCudaOps(reinterpret_cast<const DeviceOps* (*)()>(symbol)());
  }
  void TearDown() override { UseCudaOps(nullptr); }
};

// Values and gradients of `form` on the GPU in `dtype` against float64 on the CPU, from the same
// rounded inputs; differences in units of each result's largest entry.
void ExpectLikeTheCpu(const Form& form, const std::vector<at::Tensor>& inputs,
                      at::ScalarType dtype) {
  const auto run = [&](at::Device device, at::ScalarType type) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
      leaves.push_back(
          input.to(dtype).to(device, type, false, true).detach().set_requires_grad(true));
    }
    const at::Tensor output = form(leaves);
    const at::Tensor functional = Random(output.sizes().vec(), 99).to(dtype);
    output.backward(functional.to(device, type));
    std::vector<at::Tensor> results = {output.detach()};
    for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad());
    return results;
  };
  const auto found = run(at::kCUDA, dtype);
  const auto expected = run(at::kCPU, at::kDouble);
  const double tolerance = dtype == at::kFloat ? 1e-5 : 2e-2;
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i == 0 ? "values" : "gradient of input " + std::to_string(i - 1));
    const double largest = expected[i].abs().max().item<double>();
    EXPECT_LE(Difference(found[i].cpu(), expected[i]), tolerance * largest);
  }
}

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16};

TEST_F(DeviceTest, ShortConv) {
  for (const at::ScalarType dtype : kTypes) {
    for (const int64_t tokens : {2, 64, 150}) {
      for (const bool silu : {false, true}) {
        SCOPED_TRACE(fmt::format("{} tokens, {}, silu {}", tokens, c10::toString(dtype), silu));
        ExpectLikeTheCpu(
            [&](const auto& x) {
              // Rows of a wider tensor, as the projections give them.
              return ShortConv(x[0].narrow(2, 16, 1096), x[1], {}, silu);
            },
            {Random({3, tokens, 1144}, 1), Random({1096, 1, 4}, 2)}, dtype);
      }
    }
  }
}

TEST_F(DeviceTest, SwiGlu) {
  for (const at::ScalarType dtype : kTypes) {
    for (const int64_t width : {8, 216, 20}) {
      SCOPED_TRACE(fmt::format("width {}, {}", width, c10::toString(dtype)));
      ExpectLikeTheCpu([](const auto& x) { return SwiGlu(x[0]); }, {Random({3, 50, 2 * width}, 1)},
                       dtype);
    }
  }
}

TEST_F(DeviceTest, NormsOfHeads) {
  for (const at::ScalarType dtype : kTypes) {
    for (const int64_t width : {32, 64, 128, 256, 48}) {
      SCOPED_TRACE(fmt::format("width {}, {}", width, c10::toString(dtype)));
      for (const bool heads_first : {false, true}) {
        ExpectLikeTheCpu(
            [&](const auto& x) {
              return NormalizeHeads(x[0].narrow(3, 0, width), 0.3, 1e-6, heads_first);
            },
            {Random({2, 70, 3, 2 * width}, 1)}, dtype);
      }
      const std::vector<at::Tensor> inputs = {Random({2, 3, 70, width}, 1), Random({width}, 2),
                                              Random({2, 70, 3, width}, 3)};
      ExpectLikeTheCpu(
          [](const auto& x) { return RmsHeads(x[0].transpose(1, 2), 1e-6, x[1], x[2]); }, inputs,
          dtype);
      ExpectLikeTheCpu([](const auto& x) { return RmsHeads(x[0].transpose(1, 2), 1e-6, x[1]); },
                       {inputs[0], inputs[1]}, dtype);
    }
  }
}

TEST_F(DeviceTest, DeltaRule) {
  for (const at::ScalarType dtype : kTypes) {
    for (const int64_t keys : {32, 64, 128, 48}) {
      for (const bool decay : {true, false}) {
        SCOPED_TRACE(fmt::format("keys {}, {}, decay {}", keys, c10::toString(dtype), decay));
        const auto unit = [](const at::Tensor& x) { return x / x.norm(2, {3}, true); };
        const at::Tensor log_decay = Random({2, 2, 300}, 5).sigmoid() * -0.3;
        ExpectLikeTheCpu(
            [&](const auto& x) {
              DeltaRuleInputs inputs{
                  .q = x[0], .k = x[1], .v = x[2], .beta = x[3].sigmoid(), .g = {}, .keep = {}};
              if (decay) {
                inputs.g = log_decay.to(x[0].device(), x[0].is_cpu() ? at::kDouble : at::kFloat);
              }
              return DeltaRule(inputs);
            },
            {unit(Random({2, 2, 300, keys}, 1)), unit(Random({2, 2, 300, keys}, 2)),
             Random({2, 2, 300, 64}, 3), Random({2, 2, 300}, 4)},
            dtype);
      }
    }
  }
}

TEST_F(DeviceTest, NetworksEqualTheCpus) {
  for (const TinyModel& model : model_adapters::native::TinyModels()) {
    if (!IsSupported(model)) continue;
    SCOPED_TRACE(model.name);
    for (const Weights weights : {Weights::kLoud, Weights::kFresh}) {
      const Evaluation expected = Evaluate(model, weights, at::kCPU, at::kFloat);
      const Evaluation found = Evaluate(model, weights, at::kCUDA, at::kFloat);
      EXPECT_NEAR(found.loss, expected.loss, 1e-4);
      EXPECT_LE((found.gradient - expected.gradient).norm().item<double>(),
                1e-3 * expected.gradient.norm().item<double>());
      const Evaluation rounded = Evaluate(model, weights, at::kCUDA, at::kBFloat16);
      EXPECT_NEAR(rounded.loss, expected.loss, 0.05);
      EXPECT_TRUE(rounded.gradient.isfinite().all().item<bool>());
      if (weights == Weights::kFresh) {
        EXPECT_GT(Cosine(rounded, expected), 0.9);
      }
    }
  }
}

}  // namespace
}  // namespace natsl::training
