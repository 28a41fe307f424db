// Argument structs of the token-shift kernels.
#include "model_adapters/native/cuda/token_shift.h"

#include "kernels/cuda/short_conv.h"

namespace natsl::model_adapters::native::cuda {

at::Tensor TokenShift::Difference(const at::Tensor& h, const Pass& pass) const {
  at::Tensor difference = EmptyOn({h.size(0), h.size(1)}, h.scalar_type());
  kernels::cuda::TokenShiftArgs args;
  args.dtype = DTypeOfTensor(h);
  args.x = h.data_ptr();
  args.x_stride = h.stride(0);
  args.difference = difference.data_ptr();
  args.tails = pass.pool->fixed(tails_);
  args.slots = pass.slots;
  args.offsets = pass.offsets();
  args.sequences = pass.sequences;
  args.tokens = pass.tokens;
  args.channels = h.size(1);
  kernels::cuda::RunTokenShift(args, pass.stream);
  return difference;
}

at::Tensor Mixed(const at::Tensor& h, const at::Tensor& difference, const at::Tensor& mix,
                 const at::Tensor& coefficients, const Pass& pass) {
  at::Tensor y = EmptyOn({h.size(0), h.size(1)}, h.scalar_type());
  kernels::cuda::CombineArgs args;
  args.dtype = DTypeOfTensor(h);
  args.x = h.data_ptr();
  args.x_stride = h.stride(0);
  args.z = difference.data_ptr();
  args.z_stride = difference.stride(0);
  args.mix = mix.data_ptr<float>();
  if (coefficients.defined()) {
    args.coefficients = coefficients.data_ptr();
    args.coefficients_stride = coefficients.stride(0);
  }
  args.y = y.data_ptr();
  args.y_stride = y.stride(0);
  args.rows = h.size(0);
  args.columns = h.size(1);
  kernels::cuda::RunCombine(args, pass.stream);
  return y;
}

}  // namespace natsl::model_adapters::native::cuda
