// The step.
#include "training/loop/train_step.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

namespace natsl::training {

TrainStep::TrainStep(const Network& network, AdamW& optimizer, TrainDevice& device,
                     at::ScalarType dtype, int64_t micro_batches)
    : network_(network),
      optimizer_(optimizer),
      device_(device),
      dtype_(dtype),
      micro_batches_(micro_batches) {
  const at::TensorOptions options(device.device());
  gradient_ = at::zeros({optimizer.size() + 1}, options.dtype(at::kFloat));
  sums_ = at::zeros({3}, options.dtype(at::kFloat));
  int64_t layers = 0, heads = 0;
  for (const model_adapters::LayerSpec& layer : network.spec().layers) {
    if (const auto* nats = std::get_if<model_adapters::NatsSpec>(&layer.mixer)) {
      ++layers;
      heads = nats->nats_heads;
    }
  }
  if (layers > 0) share_ = at::zeros({layers, heads}, options.dtype(at::kFloat));
}

void TrainStep::Run(const at::Tensor& tokens) {
  const int64_t rows = tokens.size(1) / micro_batches_;
  const double weight = 1.0 / static_cast<double>(micro_batches_);
  for (int64_t micro = 0; micro < micro_batches_; ++micro) {
    const at::Tensor part = tokens.narrow(1, micro * rows, rows);
    const Network::Output output = network_.Loss(part[0], part[1], dtype_);
    const std::vector<at::Tensor>& parameters = optimizer_.parameters();
    std::vector<at::Tensor> flat = torch::autograd::grad(
        {micro_batches_ == 1 ? output.loss : output.loss * weight}, parameters, {},
        /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < flat.size(); ++i) {
      flat[i] = flat[i].defined() ? flat[i].reshape({-1})
                                  : at::zeros({parameters[i].numel()}, sums_.options());
    }
    flat.push_back(output.loss.detach().reshape({1}) * weight);
    if (micro == 0) {
      at::cat_out(gradient_, flat);
    } else {
      gradient_.add_(at::cat(flat));
    }
    if (share_.defined() && output.softmax_share.defined()) {
      share_.copy_(output.softmax_share);
      sums_.narrow(0, 1, 1).add_(share_.mean(), weight);
    }
  }
  const at::NoGradGuard no_grad;
  device_.AverageOverRanks(gradient_);
  const int64_t size = optimizer_.size();
  sums_.narrow(0, 0, 1).add_(gradient_.narrow(0, size, 1));
  sums_.narrow(0, 2, 1).add_(1);
  optimizer_.Step(gradient_.narrow(0, 0, size));
}

}  // namespace natsl::training
