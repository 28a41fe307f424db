// Losses and gradients of small networks on random ids, to compare dtypes and devices.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cosine_similarity.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model_adapters/native/torch_headers.h"
#include "model_adapters/native/weights.h"
#include "model_adapters/spec/checkpoint.h"
#include "tests/model_adapters/native/tiny_models.h"
#include "training/network.h"

namespace natsl::training {

using model_adapters::native::TinyModel;

inline model_adapters::ModelSpec SpecOf(const TinyModel& model) {
  return model_adapters::ParseModelSpec(model_adapters::native::TinyConfig(model), model.name);
}

/// Whether training has a form of it.
inline bool IsSupported(const TinyModel& model) {
  const std::string family = SpecOf(model).family;
  for (const char* other : {"llama", "qwen3", "mistral", "gemma3_text", "smollm3", "gpt_neox"}) {
    if (family == other) return false;
  }
  return !std::string_view(model.name).starts_with("natsl_own_");
}

inline at::Tensor Ids(int64_t batch, int64_t tokens, uint64_t seed) {
  const auto ids = model_adapters::native::RandomIds(batch * tokens, seed);
  at::Tensor tensor = at::empty({batch, tokens}, at::kLong);
  for (size_t i = 0; i < ids.size(); ++i) tensor.view(-1)[static_cast<int64_t>(i)] = ids[i];
  return tensor;
}

/// Random weights of unit gain, so that every part of a layer shows in the logits. Here and there a
/// norm's input nearly vanishes, and rounding then turns gradients anywhere.
inline void DrawLoud(const model_adapters::ModelSpec& spec, const Network& network) {
  const at::NoGradGuard no_grad;
  const auto source = model_adapters::native::MakeRandomWeights(spec, 11);
  for (const model_adapters::SlotSpec& slot : model_adapters::ExpectedSlots(spec)) {
    const std::string name = model_adapters::TensorName(spec, slot.slot);
    network.Parameters().at(name).copy_(source->Load(slot.slot));
  }
}

/// kFresh: as training begins; well-conditioned, gradients survive the rounding to bfloat16.
enum class Weights { kLoud, kFresh };

struct Evaluation {
  double loss;
  at::Tensor gradient;  ///< of every parameter, one after the other: float64, on the CPU
};

inline Evaluation Evaluate(const TinyModel& model, Weights weights, at::Device device,
                           at::ScalarType dtype) {
  const auto spec = SpecOf(model);
  const Network network(spec, 7, device);
  if (weights == Weights::kLoud) DrawLoud(spec, network);
  const at::Tensor ids = Ids(2, 201, 4).to(device);
  const at::Tensor loss = network.Loss(ids.narrow(1, 0, 200), ids.narrow(1, 1, 200), dtype).loss;
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  loss.backward();
  std::vector<at::Tensor> parts;
  for (const auto& [name, parameter] : network.Parameters()) {
    const at::Tensor gradient =
        parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter);
    EXPECT_EQ(gradient.scalar_type(), at::kFloat) << name;
    parts.push_back(gradient.flatten().cpu());
  }
  return {loss.item<double>(), at::cat(parts).to(at::kDouble)};
}

inline double Cosine(const Evaluation& a, const Evaluation& b) {
  return at::cosine_similarity(a.gradient, b.gradient, 0).item<double>();
}

}  // namespace natsl::training
