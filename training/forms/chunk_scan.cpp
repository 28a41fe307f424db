// One product a chunk forward and one backward; everything else is batched over the chunks.
#include "training/forms/chunk_scan.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/device_ops.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

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

// decay_c I - erase_c, in the state's type.
at::Tensor Transitions(const at::Tensor& erase, const at::Tensor& decay, at::ScalarType state) {
  at::Tensor transition = erase.to(state).neg();
  at::Tensor diagonal = transition.diagonal(0, 2, 3);
  if (decay.defined()) {
    diagonal.add_(decay.unsqueeze(2));
  } else {
    diagonal.add_(1);
  }
  return transition;
}

// The states at the chunks' starts.
at::Tensor StatesOf(const at::Tensor& erase, const at::Tensor& increment, const at::Tensor& decay) {
  if (const DeviceOps* ops = DeviceOpsFor(increment)) {
    const at::Tensor states = ops->erasing_scan(erase, increment, decay, false);
    if (states.defined()) return states;
  }
  const at::ScalarType state = StateType(increment.scalar_type());
  const at::Tensor transition = Transitions(erase, decay, state);
  const at::Tensor states = ShiftedIncrements(increment, state);
  for (int64_t c = 0; c + 1 < increment.size(1); ++c) {
    states.select(1, c + 1).baddbmm_(transition.select(1, c), states.select(1, c));
  }
  return states.to(increment.scalar_type());
}

// The gradients of the states at the chunks' ends, which are those of the increments.
at::Tensor EndGradients(const at::Tensor& gradient, const at::Tensor& erase,
                        const at::Tensor& decay) {
  if (const DeviceOps* ops = DeviceOpsFor(gradient)) {
    const at::Tensor ends = ops->erasing_scan(erase, gradient.contiguous(), decay, true);
    if (ends.defined()) return ends;
  }
  const at::ScalarType state = StateType(gradient.scalar_type());
  const int64_t chunks = gradient.size(1);
  const at::Tensor transition = Transitions(erase, decay, state);
  // extended[c] becomes the gradient of S_c from all that follows.
  const at::Tensor extended = ExtendedGradient(gradient, state);
  for (int64_t c = chunks - 2; c >= 0; --c) {
    extended.select(1, c).baddbmm_(transition.select(1, c).transpose(1, 2),
                                   extended.select(1, c + 1));
  }
  return extended.narrow(1, 1, chunks).to(gradient.scalar_type()).contiguous();
}

// (erase, increment, decay) → states.
class ErasingOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor &erase = in[0], &decay = in[2];
    const at::Tensor states = StatesOf(erase, in[1], decay);
    saved = {erase, decay, states};
    return {states};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &erase = saved[0], &decay = saved[1], &states = saved[2];
    const int64_t keys = states.size(2), values = states.size(3);
    const at::Tensor increment = EndGradients(gradients[0], erase, decay);
    const at::Tensor outer = at::bmm(increment.view({-1, keys, values}),
                                     states.reshape({-1, keys, values}).transpose(1, 2))
                                 .view({states.size(0), states.size(1), keys, keys});
    at::Tensor decay_gradient;
    if (decay.defined()) {
      decay_gradient = outer.diagonal(0, 2, 3).sum(2, false, decay.scalar_type());
    }
    return {outer.neg().to(erase.scalar_type()), increment, decay_gradient};
  }
};

// (increment, decay) → states.
class DecayingOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor &increment = in[0], &decay = in[1];
    const at::Tensor states = ShiftedIncrements(increment, StateType(increment.scalar_type()));
    const at::Tensor rows = decay.unsqueeze(3);
    for (int64_t c = 0; c + 1 < increment.size(1); ++c) {
      states.select(1, c + 1).addcmul_(states.select(1, c), rows.select(1, c));
    }
    const at::Tensor rounded = states.to(increment.scalar_type());
    saved = {decay, rounded};
    return {rounded};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &decay = saved[0], &states = saved[1];
    const at::ScalarType state = decay.scalar_type();
    const int64_t chunks = states.size(1);
    const at::Tensor extended = ExtendedGradient(gradients[0], state);
    const at::Tensor rows = decay.unsqueeze(3);
    for (int64_t c = chunks - 2; c >= 0; --c) {
      extended.select(1, c).addcmul_(extended.select(1, c + 1), rows.select(1, c));
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
  return Apply<ErasingOperator>({erase, increment, decay});
}

at::Tensor DecayingScan(const at::Tensor& increment, const at::Tensor& decay) {
  return Apply<DecayingOperator>({increment, decay});
}

}  // namespace natsl::training
