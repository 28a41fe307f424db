// The forget gate of HGRN and HGRN2 on the device.
#pragma once

#include "kernels/cuda/elementwise.h"
#include "model_adapters/native/cuda/pass.h"
#include "model_adapters/native/cuda/tensors.h"

namespace natsl::model_adapters::native::cuda {

/// g = log(L + (1 - L) sigmoid(f)) float32, open = 1 - exp(g), times silu(x) where x is defined;
/// both contiguous.
inline void ForgetGate(const at::Tensor& f, const at::Tensor& x, const at::Tensor& bound,
                       const at::Tensor& g, const at::Tensor& open, const Pass& pass) {
  kernels::cuda::ForgetGateArgs args;
  args.dtype = DTypeOfTensor(f);
  args.f = f.data_ptr();
  args.f_stride = f.stride(0);
  if (x.defined()) {
    args.x = x.data_ptr();
    args.x_stride = x.stride(0);
  }
  args.bound = FloatsOrNull(bound);
  args.g = g.data_ptr<float>();
  args.open = open.data_ptr();
  args.rows = f.size(0);
  args.columns = f.size(1);
  kernels::cuda::RunForgetGate(args, pass.stream);
}

}  // namespace natsl::model_adapters::native::cuda
