// The forget gate of HGRN and HGRN2, with its learned lower bound.
#pragma once

#include "model_adapters/native/torch_headers.h"

namespace natsl::model_adapters::native {

/// log(L + (1 - L) sigma(f)) elementwise; an undefined `bound`: log sigma(f). L in [0, 1).
inline at::Tensor LogForgetGate(const at::Tensor& f, const at::Tensor& bound) {
  const at::Tensor open = at::log_sigmoid(f);
  if (!bound.defined()) return open;
  return at::logaddexp(bound.log(), at::log1p(bound.neg()) + open);
}

/// Rows of `bounds` [layers, D] → L [layers, D]: cumulative softmax over the layers, less its first
/// row.
inline at::Tensor LowerBounds(const at::Tensor& bounds) {
  const at::Tensor share = bounds.softmax(0);
  return share.cumsum(0) - share.narrow(0, 0, 1);
}

}  // namespace natsl::model_adapters::native
