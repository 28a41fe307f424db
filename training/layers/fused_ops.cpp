// Operators whose gradients by composition would read and write too much: one pass each over what
// they need.

#include <atomic>
#include <cmath>

#include "model_adapters/native/torch_headers.h"
#include "training/forms/common.h"
#include "training/layers/device_ops.h"
#include "training/layers/ops.h"
#include "training/operator.h"

namespace natsl::training {
namespace {

using HeadNorm = DeviceOps::HeadNorm;
using HeadNormGradient = DeviceOps::HeadNormGradient;

// weight * silu(gate), or what there is of it; undefined: ones.
at::Tensor FactorOf(const HeadNorm& args) {
  if (!args.gate.defined()) return args.weight;
  const at::Tensor open = at::silu(args.gate);
  return args.weight.defined() ? open * args.weight : open;
}

// scale / sqrt(sum x^2 + eps), [B, T, H, 1] in the state's type.
at::Tensor InverseNorm(const HeadNorm& args) {
  const at::Tensor norm =
      at::linalg_vector_norm(args.x, 2, {-1}, true, StateType(args.x.scalar_type()));
  return norm.square_().add_(args.eps).rsqrt_();
}

at::Tensor RunHeadNorm(const HeadNorm& args) {
  if (const DeviceOps* ops = DeviceOpsFor(args.x)) {
    const at::Tensor y = ops->head_norm(args);
    if (y.defined()) return y;
  }
  at::Tensor y = NewHeads(args.x, args.heads_first);
  at::mul_out(y, args.x, InverseNorm(args).mul_(args.scale));
  const at::Tensor factor = FactorOf(args);
  return factor.defined() ? y.mul_(factor) : y;
}

// With n = scale r x, r = (x.x + eps)^-1/2, y = n f: dx = scale (r dn - r^3 (x.dn) x), dn = f dy.
HeadNormGradient RunHeadNormGradient(const at::Tensor& y_gradient, const HeadNorm& args) {
  if (const DeviceOps* ops = DeviceOpsFor(args.x)) {
    HeadNormGradient result = ops->head_norm_gradient(y_gradient, args);
    if (result.x.defined()) return result;
  }
  HeadNormGradient result;
  const at::Tensor inverse = InverseNorm(args), factor = FactorOf(args);
  at::Tensor gradient = y_gradient;
  if (factor.defined()) {
    gradient = at::mul(y_gradient, factor);
    at::Tensor factor_gradient = at::empty(args.x.sizes(), args.x.options());
    at::mul_out(factor_gradient, args.x, inverse * args.scale);
    factor_gradient.mul_(y_gradient);
    if (args.weight.defined()) {
      const at::Tensor products =
          args.gate.defined() ? at::silu(args.gate).mul_(factor_gradient) : factor_gradient;
      result.weight = products.sum(at::IntArrayRef{0, 1, 2}, false, inverse.scalar_type())
                          .to(args.weight.scalar_type());
    }
    if (args.gate.defined()) {
      if (args.weight.defined()) factor_gradient.mul_(args.weight);
      result.gate = at::silu_backward(factor_gradient, args.gate);
    }
  }
  const at::Tensor dot = at::mul(args.x, gradient).sum(-1, true, inverse.scalar_type());
  // As x lies in memory, so that what follows reads rows in order.
  result.x = NewHeads(args.x, args.x.stride(1) < args.x.stride(2));
  at::mul_out(result.x, gradient, inverse * args.scale);
  result.x.addcmul_(args.x, dot.mul_(inverse.pow(3)).mul_(args.scale), -1);
  return result;
}

// (x, weight, gate) → y.
class HeadNormOperator final : public Operator {
 public:
  HeadNormOperator(double scale, double eps, bool heads_first)
      : scale_(scale), eps_(eps), heads_first_(heads_first) {}

  Tensors Forward(const Tensors& in, Tensors& saved) override {
    saved = in;
    return {RunHeadNorm({in[0], in[1], in[2], scale_, eps_, heads_first_})};
  }
  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const HeadNormGradient result =
        RunHeadNormGradient(gradients[0], {saved[0], saved[1], saved[2], scale_, eps_, false});
    return {result.x, result.weight, result.gate};
  }

 private:
  double scale_, eps_;
  bool heads_first_;
};

class SwiGluOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    saved = in;
    const at::Tensor& x = in[0];
    if (const DeviceOps* ops = DeviceOpsFor(x)) {
      const at::Tensor y = ops->swiglu(x);
      if (y.defined()) return {y};
    }
    const int64_t half = x.size(-1) / 2;
    at::Tensor result = at::silu(x.narrow(-1, 0, half));
    return {result.mul_(x.narrow(-1, half, half))};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    const at::Tensor& x = saved[0];
    if (const DeviceOps* ops = DeviceOpsFor(x)) {
      const at::Tensor gradient = ops->swiglu_gradient(gradients[0], x);
      if (gradient.defined()) return {gradient};
    }
    const int64_t half = x.size(-1) / 2;
    const at::Tensor gate = x.narrow(-1, 0, half), up = x.narrow(-1, half, half);
    at::Tensor result = at::empty(x.sizes(), x.options());
    at::Tensor gate_gradient = result.narrow(-1, 0, half);
    at::Tensor up_gradient = result.narrow(-1, half, half);
    at::mul_out(up_gradient, gradients[0], at::silu(gate));
    at::silu_backward_out(gate_gradient, at::mul(gradients[0], up), gate);
    return {result};
  }
};

// x [B, T, C]: sum over j of x_{t + j} w_j, t < tokens; w [W, C].
at::Tensor ShiftedSum(const at::Tensor& x, const at::Tensor& weight, int64_t tokens, bool flip) {
  const int64_t width = weight.size(0);
  const auto tap = [&](int64_t j) { return weight.select(0, flip ? width - 1 - j : j); };
  at::Tensor sum = at::mul(x.narrow(1, 0, tokens), tap(0));
  for (int64_t j = 1; j < width; ++j) sum.addcmul_(x.narrow(1, j, tokens), tap(j));
  return sum;
}

// (x, weight, bias) → y.
class ConvOperator final : public Operator {
 public:
  explicit ConvOperator(bool silu) : silu_(silu) {}

  Tensors Forward(const Tensors& in, Tensors& saved) override {
    const at::Tensor &x = in[0], &weight = in[1], &bias = in[2];
    const int64_t width = weight.size(2);
    const at::Tensor taps = weight.squeeze(1).t().contiguous();
    with_bias_ = bias.defined();
    if (const DeviceOps* ops = DeviceOpsFor(x); ops != nullptr && !with_bias_) {
      const at::Tensor y = ops->conv(x, taps, silu_);
      if (y.defined()) {
        saved = {x, taps};
        return {y};
      }
    }
    const at::Tensor padded = at::constant_pad_nd(x, {0, 0, width - 1, 0});
    at::Tensor sum = ShiftedSum(padded, taps, x.size(1), false);
    if (with_bias_) sum.add_(bias);
    saved = {padded, taps, silu_ ? sum : at::Tensor()};
    return {silu_ ? at::silu(sum) : sum};
  }

  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    if (saved.size() == 3) return Composed(gradients[0], saved);
    const auto [x, taps] =
        DeviceOpsFor(saved[0])->conv_gradient(gradients[0], saved[0], saved[1], silu_);
    return {x, taps.t().unsqueeze(1).to(saved[1].scalar_type()), at::Tensor()};
  }

 private:
  Tensors Composed(const at::Tensor& y_gradient, const Tensors& saved) const {
    const at::Tensor &padded = saved[0], &taps = saved[1], &sum = saved[2];
    const int64_t width = taps.size(0);
    const int64_t tokens = padded.size(1) - width + 1;
    // Zeros after the last token, as `padded` has them before the first.
    at::Tensor extended = at::empty(padded.sizes(), padded.options());
    at::Tensor gradient = extended.narrow(1, 0, tokens);
    extended.narrow(1, tokens, width - 1).zero_();
    if (sum.defined()) {
      at::silu_backward_out(gradient, y_gradient, sum);
    } else {
      gradient.copy_(y_gradient);
    }
    at::Tensor weight = at::empty({taps.size(1), 1, width}, taps.options());
    for (int64_t j = 0; j < width; ++j) {
      const at::Tensor products = at::mul(gradient, padded.narrow(1, j, tokens));
      weight.select(2, j).select(1, 0).copy_(
          products.sum(at::IntArrayRef{0, 1}, false, StateType(taps.scalar_type())));
    }
    at::Tensor bias;
    if (with_bias_) bias = gradient.sum(at::IntArrayRef{0, 1});
    return {ShiftedSum(extended, taps, tokens, true), weight, bias};
  }

  bool silu_, with_bias_ = false;
};

// The rotation by the angles, or back by them.
at::Tensor RotateHalves(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines,
                        bool back) {
  const int64_t half = cosines.size(1);
  const at::Tensor c = cosines.unsqueeze(1), s = sines.unsqueeze(1);
  const at::Tensor first = x.narrow(3, 0, half), second = x.narrow(3, half, half);
  at::Tensor result = at::empty(x.sizes(), x.options());
  at::Tensor first_out = result.narrow(3, 0, half), second_out = result.narrow(3, half, half);
  at::mul_out(first_out, first, c);
  first_out.addcmul_(second, s, back ? 1 : -1);
  at::mul_out(second_out, second, c);
  second_out.addcmul_(first, s, back ? -1 : 1);
  const int64_t rest = x.size(3) - 2 * half;
  if (rest > 0) result.narrow(3, 2 * half, rest).copy_(x.narrow(3, 2 * half, rest));
  return result;
}

// (x, cosines, sines) → y; the tables have no gradient.
class RotateOperator final : public Operator {
 public:
  Tensors Forward(const Tensors& in, Tensors& saved) override {
    saved = {in[1], in[2]};
    return {RotateHalves(in[0], in[1], in[2], false)};
  }
  Tensors Backward(const Tensors& gradients, const Tensors& saved) override {
    return {RotateHalves(gradients[0], saved[0], saved[1], true), at::Tensor(), at::Tensor()};
  }
};

std::atomic<const DeviceOps*> cuda_ops = nullptr;

}  // namespace

void UseCudaOps(const DeviceOps* ops) { cuda_ops = ops; }

const DeviceOps* DeviceOpsFor(const at::Tensor& x) {
  return x.is_cuda() ? cuda_ops.load() : nullptr;
}

at::Tensor NormalizeHeads(const at::Tensor& x, double scale, double eps, bool heads_first) {
  const at::Tensor y = Apply<HeadNormOperator>({x, {}, {}}, scale, eps, heads_first);
  return heads_first ? y.transpose(1, 2) : y;
}

at::Tensor RmsHeads(const at::Tensor& x, double eps, const at::Tensor& weight,
                    const at::Tensor& gate) {
  const auto width = static_cast<double>(x.size(-1));
  return Apply<HeadNormOperator>({x, weight, gate}, std::sqrt(width), width * eps, false);
}

at::Tensor SwiGlu(const at::Tensor& x) { return Apply<SwiGluOperator>({x}); }

at::Tensor ShortConv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     bool silu) {
  return Apply<ConvOperator>({x, weight, bias}, silu);
}

at::Tensor Rotate(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines) {
  return Apply<RotateOperator>({x, cosines, sines});
}

}  // namespace natsl::training
