// One product a chunk forward and one backward; everything else is batched over the chunks.
#include "training/forms/chunk_scan.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "training/forms/common.h"

namespace natsl::training {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Zeros, then each chunk's increment where the next chunk's state will be.
at::Tensor ShiftedIncrements(const at::Tensor& increment, at::ScalarType state) {
  const int64_t chunks = increment.size(1);
  at::Tensor states = at::empty(increment.sizes(), increment.options().dtype(state));
  states.select(1, 0).zero_();
  states.narrow(1, 1, chunks - 1).copy_(increment.narrow(1, 0, chunks - 1));
  return states;
}

// The states' own gradients, then a chunk of zeros: [G, chunks + 1, K, V] in the state's type.
at::Tensor ExtendedGradient(const at::Tensor& gradient, at::ScalarType state) {
  const int64_t chunks = gradient.size(1);
  at::Tensor extended =
      at::empty({gradient.size(0), chunks + 1, gradient.size(2), gradient.size(3)},
                gradient.options().dtype(state));
  extended.narrow(1, 0, chunks).copy_(gradient);
  extended.select(1, chunks).zero_();
  return extended;
}

struct ErasingFunction : torch::autograd::Function<ErasingFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& erase,
                            const at::Tensor& increment, const std::optional<at::Tensor>& decay) {
    const at::ScalarType state = StateType(increment.scalar_type());
    const int64_t chunks = increment.size(1);
    at::Tensor transition = erase.to(state).neg();
    at::Tensor diagonal = transition.diagonal(0, 2, 3);
    if (decay) {
      diagonal.add_(decay->unsqueeze(2));
    } else {
      diagonal.add_(1);
    }
    at::Tensor states = ShiftedIncrements(increment, state);
    for (int64_t c = 0; c + 1 < chunks; ++c) {
      at::Tensor next = states.select(1, c + 1);
      next.baddbmm_(transition.select(1, c), states.select(1, c));
    }
    at::Tensor rounded = states.to(increment.scalar_type());
    context->save_for_backward({transition, rounded});
    context->saved_data["decay"] = decay.has_value();
    context->saved_data["erase_type"] = static_cast<int64_t>(erase.scalar_type());
    return rounded;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &transition = saved[0], &states = saved[1];
    const at::ScalarType state = transition.scalar_type();
    const auto erase_type = static_cast<at::ScalarType>(context->saved_data["erase_type"].toInt());
    const int64_t groups = states.size(0), chunks = states.size(1);
    const int64_t keys = states.size(2), values = states.size(3);
    // extended[c] becomes the gradient of S_c from all that follows.
    at::Tensor extended = ExtendedGradient(gradients[0], state);
    for (int64_t c = chunks - 2; c >= 0; --c) {
      at::Tensor current = extended.select(1, c);
      current.baddbmm_(transition.select(1, c).transpose(1, 2), extended.select(1, c + 1));
    }
    at::Tensor increment = extended.narrow(1, 1, chunks).to(states.scalar_type()).contiguous();
    at::Tensor outer = at::bmm(increment.view({-1, keys, values}),
                               states.reshape({-1, keys, values}).transpose(1, 2))
                           .view({groups, chunks, keys, keys});
    at::Tensor decay;
    if (context->saved_data["decay"].toBool()) {
      decay = outer.diagonal(0, 2, 3).sum(2, false, state);
    }
    return {outer.neg().to(erase_type), increment, decay};
  }
};

struct DecayingFunction : torch::autograd::Function<DecayingFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& increment,
                            const at::Tensor& decay) {
    at::Tensor states = ShiftedIncrements(increment, StateType(increment.scalar_type()));
    const at::Tensor rows = decay.unsqueeze(3);
    for (int64_t c = 0; c + 1 < increment.size(1); ++c) {
      at::Tensor next = states.select(1, c + 1);
      next.addcmul_(states.select(1, c), rows.select(1, c));
    }
    at::Tensor rounded = states.to(increment.scalar_type());
    context->save_for_backward({decay, rounded});
    return rounded;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &decay = saved[0], &states = saved[1];
    const at::ScalarType state = decay.scalar_type();
    const int64_t chunks = states.size(1);
    at::Tensor extended = ExtendedGradient(gradients[0], state);
    const at::Tensor rows = decay.unsqueeze(3);
    for (int64_t c = chunks - 2; c >= 0; --c) {
      at::Tensor current = extended.select(1, c);
      current.addcmul_(extended.select(1, c + 1), rows.select(1, c));
    }
    const at::Tensor following = extended.narrow(1, 1, chunks);
    at::Tensor decay_gradient = at::mul(following, states).sum(3, false, state);
    if (decay.size(2) == 1) decay_gradient = decay_gradient.sum(2, true);
    return {following.to(states.scalar_type()).contiguous(), decay_gradient};
  }
};

}  // namespace

at::Tensor ErasingScan(const at::Tensor& erase, const at::Tensor& increment,
                       const at::Tensor& decay) {
  return ErasingFunction::apply(erase, increment,
                                decay.defined() ? std::optional(decay) : std::nullopt);
}

at::Tensor DecayingScan(const at::Tensor& increment, const at::Tensor& decay) {
  return DecayingFunction::apply(increment, decay);
}

}  // namespace natsl::training
