// The forget gate of HGRN and HGRN2, with its learned lower bound.
#pragma once

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"

namespace natsl::training {

/// log(L + (1 - L) sigma(f)) in the state's type; an undefined `bound`: log sigma(f). L in [0, 1).
inline at::Tensor LogForgetGate(const at::Tensor& f, const at::Tensor& bound) {
  const at::Tensor open = at::log_sigmoid(f.to(StateType(f.scalar_type())));
  if (!bound.defined()) return open;
  return at::logaddexp(bound.log(), at::log1p(bound.neg()) + open);
}

}  // namespace natsl::training
