// The optimizer.
#include "training/loop/optimizer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "core/check.h"
#include "core/error.h"

namespace natsl::training {

AdamW::AdamW(const std::map<std::string, at::Tensor>& parameters, const AdamWOptions& options,
             const ScheduleOptions& schedule)
    : options_(options) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values, decays;
  for (const auto& [name, parameter] : parameters) {
    NATSL_CHECK(parameter.scalar_type() == at::kFloat);
    parameters_.push_back(parameter);
    values.push_back(parameter.detach().reshape({-1}));
    const bool matrix = parameter.dim() >= 2;
    decays.push_back(at::ones({parameter.numel()}, values.back().options()).mul_(matrix ? 1 : 0));
  }
  flat_ = at::cat(values);
  decay_ = at::cat(decays);
  int64_t begin = 0;
  for (at::Tensor& parameter : parameters_) {
    const int64_t count = parameter.numel();
    parameter.set_data(flat_.narrow(0, begin, count).view(parameter.sizes()));
    begin += count;
  }
  first_ = at::zeros_like(flat_);
  second_ = at::zeros_like(flat_);
  step_ = at::zeros({1}, flat_.options().dtype(at::kLong));
  norm_ = at::zeros({}, flat_.options());
  at::Tensor table = at::empty({schedule.steps, 3}, at::kFloat);
  float* row = table.data_ptr<float>();
  for (int64_t step = 0; step < schedule.steps; ++step, row += 3) {
    const auto t = static_cast<double>(step + 1);
    row[0] = static_cast<float>(LearningRate(schedule, step));
    row[1] = static_cast<float>(1 / (1 - std::pow(options.beta1, t)));
    row[2] = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
  }
  table_ = table.to(flat_.device());
}

void AdamW::Step(const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  const at::Tensor row = at::index_select(table_, 0, step_);
  const at::Tensor rate = row.select(1, 0);
  norm_.copy_(at::linalg_vector_norm(gradient));
  at::Tensor clipped = gradient;
  if (options_.clip > 0) {
    clipped = gradient * (options_.clip / (norm_ + 1e-6)).clamp_max(1.0);
  }
  first_.lerp_(clipped, 1 - options_.beta1);
  second_.mul_(options_.beta2).addcmul_(clipped, clipped, 1 - options_.beta2);
  const at::Tensor scale = second_.sqrt().mul_(row.select(1, 2)).add_(options_.eps);
  if (options_.weight_decay > 0) {
    flat_.mul_(1 - decay_ * (rate * options_.weight_decay));
  }
  flat_.addcdiv_(first_ * (rate * row.select(1, 1)), scale, -1);
  step_.add_(1);
}

std::map<std::string, at::Tensor> AdamW::State() const {
  return {{"parameters", flat_}, {"first", first_}, {"second", second_}, {"step", step_}};
}

void AdamW::Load(const std::map<std::string, at::Tensor>& state) {
  const at::NoGradGuard no_grad;
  for (auto& [name, target] : State()) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.sizes() != target.sizes()) {
      throw DataError("training state: \"{}\" is missing or of another size: another config's",
                      name);
    }
    at::Tensor destination = target;
    destination.copy_(found->second);
  }
}

}  // namespace natsl::training
