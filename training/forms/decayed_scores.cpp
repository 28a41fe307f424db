// One decay matrix for both products, kept for the backward pass; the decay's gradient comes from
// the products themselves.
#include "training/forms/decayed_scores.h"

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/device_ops.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

// exp(b_t - b_j) for j <= t; undefined without decay.
at::Tensor DecayMatrix(const at::Tensor& b, at::ScalarType dtype) {
  if (!b.defined()) return {};
  if (const DeviceOps* ops = DeviceOpsFor(b)) {
    const at::Tensor decay = ops->decay_matrix(b, dtype);
    if (decay.defined()) return decay;
  }
  // Above the diagonal the exponential may be infinite: it is overwritten, not multiplied.
  return (b.unsqueeze(2) - b.unsqueeze(1)).exp_().tril_().to(dtype);
}

at::Tensor Product(const at::Tensor& rows, const at::Tensor& k, const at::Tensor& decay,
                   bool strict) {
  at::Tensor scores = at::bmm(rows, k.transpose(1, 2));
  if (decay.defined()) scores.mul_(decay);
  return strict || !decay.defined() ? scores.tril_(strict ? -1 : 0) : scores;
}

// The gradient of the undecayed products.
at::Tensor ProductGradient(const at::Tensor& gradient, const at::Tensor& decay, bool strict) {
  at::Tensor product = decay.defined() ? at::mul(gradient, decay) : at::tril(gradient);
  return strict ? product.tril_(-1) : product;
}

// d/db from sum of score * d score: what a row gains, its column loses.
at::Tensor DecayGradient(const at::Tensor& weighted, at::ScalarType state) {
  return weighted.sum(2, false, state) - weighted.sum(1, false, state);
}

// (q, k, b) → scores.
class ScoresOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor &q = in[0], &k = in[1];
    const at::Tensor decay = DecayMatrix(in[2], q.scalar_type());
    const at::Tensor scores = Product(q, k, decay, false);
    saved = {q, k, decay, scores};
    return {scores};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &q = saved[0], &k = saved[1], &decay = saved[2], &scores = saved[3];
    const at::Tensor product = ProductGradient(gradients[0], decay, false);
    at::Tensor b;
    if (decay.defined()) {
      b = DecayGradient(at::mul(gradients[0], scores), StateType(q.scalar_type()));
    }
    return {at::bmm(product, k), at::bmm(product.transpose(1, 2), q), b};
  }
};

// (q, scaled k, k, b) → scores, corrections.
class DeltaScoresOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor &q = in[0], &scaled_k = in[1], &k = in[2];
    const at::Tensor decay = DecayMatrix(in[3], q.scalar_type());
    const at::Tensor scores = Product(q, k, decay, false);
    const at::Tensor corrections = Product(scaled_k, k, decay, true);
    saved = {q, scaled_k, k, decay, scores, corrections};
    return {scores, corrections};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor &q = saved[0], &scaled_k = saved[1], &k = saved[2], &decay = saved[3];
    const at::Tensor score_product = ProductGradient(gradients[0], decay, false);
    const at::Tensor correction_product = ProductGradient(gradients[1], decay, true);
    at::Tensor k_gradient = at::bmm(score_product.transpose(1, 2), q);
    k_gradient.baddbmm_(correction_product.transpose(1, 2), scaled_k);
    at::Tensor b;
    if (decay.defined()) {
      at::Tensor weighted = at::mul(gradients[0], saved[4]);
      weighted.addcmul_(gradients[1], saved[5]);
      b = DecayGradient(weighted, StateType(q.scalar_type()));
    }
    return {at::bmm(score_product, k), at::bmm(correction_product, k), k_gradient, b};
  }
};

}  // namespace

at::Tensor DecayedScores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& b) {
  return Apply<ScoresOperator>({q, k, b});
}

DeltaScores DecayedDeltaScores(const at::Tensor& q, const at::Tensor& scaled_k, const at::Tensor& k,
                               const at::Tensor& b) {
  const Tensors both = Apply(c10::make_intrusive<DeltaScoresOperator>(), {q, scaled_k, k, b});
  return {both[0], both[1]};
}

}  // namespace natsl::training
