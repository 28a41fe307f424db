// The one autograd function.
#include "training/operator.h"

#include <torch/csrc/autograd/custom_function.h>

namespace natsl::training {
namespace {

using torch::autograd::AutogradContext;

constexpr const char* kOperation = "operation";
constexpr const char* kDefined = "defined";

struct OperatorFunction : torch::autograd::Function<OperatorFunction> {
  /// `present`: the defined inputs; `defined`: which those are.
  static Tensors forward(AutogradContext* context, c10::intrusive_ptr<Operator> operation,
                         at::TensorList present, std::vector<bool> defined) {
    Tensors inputs(defined.size()), saved;
    size_t next = 0;
    for (size_t i = 0; i < defined.size(); ++i) {
      if (defined[i]) inputs[i] = present[next++];
    }
    Tensors outputs = operation->Forward(inputs, saved);
    context->save_for_backward(std::move(saved));
    context->saved_data[kOperation] = c10::IValue::make_capsule(std::move(operation));
    context->saved_data[kDefined] = c10::List<bool>(c10::ArrayRef<bool>(Flags(defined)));
    return outputs;
  }

  static Tensors backward(AutogradContext* context, Tensors gradients) {
    const auto holder = context->saved_data[kOperation].toCapsule();
    const Tensors results =
        static_cast<Operator&>(*holder).Backward(gradients, context->get_saved_variables());
    const c10::List<bool> defined = context->saved_data[kDefined].toBoolList();
    Tensors aligned = {at::Tensor()};  // of the operation
    for (size_t i = 0; i < defined.size(); ++i) {
      if (defined[i]) aligned.push_back(results[i]);
    }
    aligned.emplace_back();  // of the flags
    return aligned;
  }

 private:
  static c10::SmallVector<bool, 8> Flags(const std::vector<bool>& flags) {
    return {flags.begin(), flags.end()};
  }
};

}  // namespace

Tensors Apply(c10::intrusive_ptr<Operator> operation, const Tensors& inputs) {
  Tensors present;
  std::vector<bool> defined;
  for (const at::Tensor& input : inputs) {
    defined.push_back(input.defined());
    if (input.defined()) present.push_back(input);
  }
  return OperatorFunction::apply(std::move(operation), at::TensorList(present), defined);
}

}  // namespace natsl::training
