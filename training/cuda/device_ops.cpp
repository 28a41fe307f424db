// The CUDA kernels as functions of tensors, for layers/device_ops.h.
#include "training/layers/device_ops.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "core/error.h"
#include "training/cuda/kernels/chunks.h"

namespace natsl::training {
namespace {

std::optional<cuda::Element> ElementOf(const at::Tensor& x) {
  if (x.scalar_type() == at::kBFloat16) return cuda::Element::kBFloat16;
  if (x.scalar_type() == at::kFloat) return cuda::Element::kFloat32;
  return std::nullopt;
}

cudaStream_t Stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

std::optional<cuda::ConvArgs> ConvArgsOf(const at::Tensor& x, const at::Tensor& taps, bool silu) {
  const auto element = ElementOf(x);
  if (!element || taps.size(0) != 4 || x.stride(2) != 1 || !taps.is_contiguous()) return {};
  cuda::ConvArgs args;
  args.element = *element;
  args.x = x.const_data_ptr();
  args.x_batch_stride = x.stride(0);
  args.x_stride = x.stride(1);
  args.taps = taps.const_data_ptr();
  args.batch = x.size(0);
  args.tokens = x.size(1);
  args.channels = x.size(2);
  args.silu = silu;
  if (!cuda::ConvIsSupported(args)) return {};
  return args;
}

at::Tensor Conv(const at::Tensor& x, const at::Tensor& taps, bool silu) {
  auto args = ConvArgsOf(x, taps, silu);
  if (!args) return {};
  at::Tensor y = at::empty(x.sizes(), x.options());
  args->y = y.mutable_data_ptr();
  cuda::RunConv(*args, Stream());
  return y;
}

std::pair<at::Tensor, at::Tensor> ConvGradient(const at::Tensor& y_gradient, const at::Tensor& x,
                                               const at::Tensor& taps, bool silu) {
  auto args = ConvArgsOf(x, taps, silu);
  if (!args) return {};
  const at::Tensor gradient = y_gradient.contiguous();
  at::Tensor x_gradient = at::empty(x.sizes(), x.options());
  at::Tensor partial = at::empty({cuda::ConvRuns(x.size(0), x.size(1)), 4, x.size(2)},
                                 x.options().dtype(at::kFloat));
  args->y_gradient = gradient.const_data_ptr();
  args->x_gradient = x_gradient.mutable_data_ptr();
  args->taps_gradient = partial.mutable_data_ptr<float>();
  cuda::RunConvGradient(*args, Stream());
  return {x_gradient, partial.sum(0)};
}

std::optional<cuda::SwiGluArgs> SwiGluArgsOf(const at::Tensor& x) {
  const auto element = ElementOf(x);
  if (!element || !x.is_contiguous()) return {};
  cuda::SwiGluArgs args;
  args.element = *element;
  args.x = x.const_data_ptr();
  args.width = x.size(-1) / 2;
  args.rows = x.numel() / x.size(-1);
  if (!cuda::SwiGluIsSupported(args)) return {};
  return args;
}

at::Tensor SwiGluForward(const at::Tensor& x) {
  auto args = SwiGluArgsOf(x);
  if (!args) return {};
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = args->width;
  at::Tensor y = at::empty(sizes, x.options());
  args->y = y.mutable_data_ptr();
  cuda::RunSwiGlu(*args, Stream());
  return y;
}

at::Tensor SwiGluGradient(const at::Tensor& y_gradient, const at::Tensor& x) {
  auto args = SwiGluArgsOf(x);
  if (!args) return {};
  const at::Tensor gradient = y_gradient.contiguous();
  at::Tensor x_gradient = at::empty(x.sizes(), x.options());
  args->y_gradient = gradient.const_data_ptr();
  args->x_gradient = x_gradient.mutable_data_ptr();
  cuda::RunSwiGlu(*args, Stream());
  return x_gradient;
}

template <typename View>
void SetStrides(View& view, const at::Tensor& x) {
  view.batch_stride = x.stride(0);
  view.token_stride = x.stride(1);
  view.head_stride = x.stride(2);
}

cuda::Heads HeadsOf(const at::Tensor& x) {
  cuda::Heads heads;
  if (!x.defined()) return heads;
  heads.data = x.const_data_ptr();
  SetStrides(heads, x);
  return heads;
}

cuda::MutableHeads MutableHeadsOf(at::Tensor& x) {
  cuda::MutableHeads heads;
  heads.data = x.mutable_data_ptr();
  SetStrides(heads, x);
  return heads;
}

std::optional<cuda::HeadNormArgs> HeadNormArgsOf(const DeviceOps::HeadNorm& in,
                                                 const at::Tensor& y_gradient) {
  const auto element = ElementOf(in.x);
  const auto fits = [](const at::Tensor& x) { return !x.defined() || x.stride(3) == 1; };
  if (!element || !fits(in.x) || !fits(in.gate) || !fits(y_gradient)) return {};
  cuda::HeadNormArgs args;
  args.element = *element;
  args.x = HeadsOf(in.x);
  args.gate = HeadsOf(in.gate);
  args.y_gradient = HeadsOf(y_gradient);
  if (in.weight.defined()) args.weight = in.weight.const_data_ptr();
  args.batch = in.x.size(0);
  args.tokens = in.x.size(1);
  args.heads = in.x.size(2);
  args.width = in.x.size(3);
  args.scale = static_cast<float>(in.scale);
  args.eps = static_cast<float>(in.eps);
  if (!cuda::HeadNormIsSupported(args)) return {};
  return args;
}

at::Tensor HeadNormForward(const DeviceOps::HeadNorm& in) {
  auto args = HeadNormArgsOf(in, {});
  if (!args) return {};
  at::Tensor y = NewHeads(in.x, in.heads_first);
  args->y = MutableHeadsOf(y);
  cuda::RunHeadNorm(*args, Stream());
  return y;
}

DeviceOps::HeadNormGradient HeadNormBackward(const at::Tensor& y_gradient,
                                             const DeviceOps::HeadNorm& in) {
  auto args = HeadNormArgsOf(in, y_gradient);
  if (!args) return {};
  DeviceOps::HeadNormGradient result;
  // As x lies in memory, so that what follows reads rows in order.
  result.x = NewHeads(in.x, in.x.stride(1) < in.x.stride(2));
  args->x_gradient = MutableHeadsOf(result.x);
  if (in.gate.defined()) {
    result.gate = NewHeads(in.gate, false);
    args->gate_gradient = MutableHeadsOf(result.gate);
  }
  at::Tensor partial;
  if (in.weight.defined()) {
    partial = at::empty({cuda::HeadNormBlocks(), in.x.size(3)}, in.x.options().dtype(at::kFloat));
    args->weight_gradient = partial.mutable_data_ptr<float>();
  }
  cuda::RunHeadNorm(*args, Stream());
  if (partial.defined()) result.weight = partial.sum(0).to(in.weight.scalar_type());
  return result;
}

at::Tensor UnitLowerInverse(const at::Tensor& a) {
  const auto element = ElementOf(a);
  if (!element || a.size(1) != 64 || !a.is_contiguous()) return {};
  at::Tensor out = at::empty(a.sizes(), a.options());
  cuda::RunUnitLowerInverse({*element, a.const_data_ptr(), out.mutable_data_ptr(), a.size(0)},
                            Stream());
  return out;
}

at::Tensor DecayMatrix(const at::Tensor& b, at::ScalarType dtype) {
  at::Tensor out = at::empty({b.size(0), b.size(1), b.size(1)}, b.options().dtype(dtype));
  const auto element = ElementOf(out);
  if (!element || b.scalar_type() != at::kFloat || b.size(1) != 64 || !b.is_contiguous()) return {};
  cuda::RunDecayMatrix({*element, b.const_data_ptr<float>(), out.mutable_data_ptr(), b.size(0)},
                       Stream());
  return out;
}

at::Tensor ErasingScan(const at::Tensor& erase, const at::Tensor& increment,
                       const at::Tensor& decay, bool backward) {
  const auto element = ElementOf(increment);
  if (!element || erase.scalar_type() != increment.scalar_type() || !erase.is_contiguous() ||
      !increment.is_contiguous() || (decay.defined() && !decay.is_contiguous())) {
    return {};
  }
  cuda::ErasingScanArgs args;
  args.element = *element;
  args.erase = erase.const_data_ptr();
  args.increment = increment.const_data_ptr();
  if (decay.defined()) args.decay = decay.const_data_ptr<float>();
  args.groups = increment.size(0);
  args.chunks = increment.size(1);
  args.keys = increment.size(2);
  args.values = increment.size(3);
  args.backward = backward;
  if (!cuda::ErasingScanIsSupported(args)) return {};
  at::Tensor out = at::empty(increment.sizes(), increment.options());
  args.out = out.mutable_data_ptr();
  cuda::RunErasingScan(args, Stream());
  return out;
}

constexpr DeviceOps kOps = {Conv,
                            ConvGradient,
                            SwiGluForward,
                            SwiGluGradient,
                            HeadNormForward,
                            HeadNormBackward,
                            UnitLowerInverse,
                            DecayMatrix,
                            ErasingScan};

}  // namespace
}  // namespace natsl::training

extern "C" const natsl::training::DeviceOps* natsl_cuda_training_ops() {
  return &natsl::training::kOps;
}
