// Dense products, norms and activations over ATen's own gradients.
#include "training/layers/ops.h"

#include "core/error.h"
#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"

namespace natsl::training {

using model_adapters::Activation;
using model_adapters::NormKind;
using model_adapters::NormSpec;

namespace {

// Rows of a product are a multiple of this many elements: tensor cores want aligned rows.
constexpr int64_t kRowMultiple = 64;

}  // namespace

at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, bias.defined() ? std::optional(bias) : std::nullopt);
}

std::vector<at::Tensor> LinearMany(const at::Tensor& x, const std::vector<at::Tensor>& weights) {
  std::vector<at::Tensor> parts = weights;
  std::vector<int64_t> sizes;
  int64_t total = 0;
  for (const at::Tensor& weight : weights) {
    sizes.push_back(weight.size(0));
    total += weight.size(0);
  }
  const int64_t missing = (kRowMultiple - total % kRowMultiple) % kRowMultiple;
  if (missing > 0) {
    parts.push_back(at::zeros({missing, weights[0].size(1)}, weights[0].options()));
    sizes.push_back(missing);
  }
  std::vector<at::Tensor> results = at::split_with_sizes(at::linear(x, at::cat(parts)), sizes, -1);
  results.resize(weights.size());
  return results;
}

at::Tensor ApplyNorm(const at::Tensor& x, const NormSpec& spec, const at::Tensor& weight,
                     const at::Tensor& bias) {
  const std::vector<int64_t> shape = {x.size(-1)};
  const auto optional = [](const at::Tensor& t) {
    return t.defined() ? std::optional(t) : std::nullopt;
  };
  switch (spec.kind) {
    case NormKind::kRms:
      return at::rms_norm(x, shape, optional(weight), spec.eps);
    case NormKind::kRmsOnePlus:
      return at::rms_norm(x, shape, weight + 1, spec.eps);
    case NormKind::kLayer:
      return at::layer_norm(x, shape, optional(weight), optional(bias), spec.eps);
  }
  throw InternalError("norm: unknown kind");
}

at::Tensor Activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kIdentity:
      return x;
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSquaredRelu:
      return at::square(at::relu(x));
    case Activation::kSigmoid:
      return at::sigmoid(x);
    case Activation::kLogSigmoid:
      return at::log_sigmoid(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kGeluErf:
      return at::gelu(x);
    case Activation::kEluPlusOne:
      return at::elu(x) + 1;
  }
  throw InternalError("activation: unknown");
}

at::Tensor ShiftDifference(const at::Tensor& x) {
  return at::constant_pad_nd(x.narrow(1, 0, x.size(1) - 1), {0, 0, 1, 0}) - x;
}

}  // namespace natsl::training
