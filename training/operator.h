// Operators with gradients of their own: LibTorch's autograd functions behind one plain interface,
// so that a single source pays for their templates.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

namespace natsl::training {

using Tensors = std::vector<at::Tensor>;

/// One application: made for one forward pass, kept for its backward pass. Neither is recorded.
class Operator : public torch::CustomClassHolder {
 public:
  /// `saved`: what Backward wants of inputs, outputs and others (undefined ones too).
  virtual Tensors Forward(const Tensors& inputs, Tensors& saved) = 0;
  /// Gradients of the outputs (zeros where nothing reads one) → gradients of the inputs; undefined
  /// for an input that was undefined or has none.
  virtual Tensors Backward(const Tensors& gradients, const Tensors& saved) = 0;
};

/// Runs the operator on `inputs`, of which some may be undefined.
Tensors Apply(c10::intrusive_ptr<Operator> operation, const Tensors& inputs);

/// For operators of one output: Apply<MyOperator>({x, y}, constructor arguments...).
template <typename T, typename... Args>
at::Tensor Apply(const Tensors& inputs, Args&&... args) {
  return Apply(c10::make_intrusive<T>(std::forward<Args>(args)...), inputs)[0];
}

}  // namespace natsl::training
