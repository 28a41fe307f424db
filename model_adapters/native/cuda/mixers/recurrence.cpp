// Argument struct of the linear-attention kernel.
#include "model_adapters/native/cuda/mixers/recurrence.h"

namespace natsl::model_adapters::native::cuda {

at::Tensor RunRecurrence(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         kernels::cuda::LinearAttentionArgs args, int64_t state, const Pass& pass) {
  at::Tensor o = EmptyOn({pass.tokens, args.heads * args.value_dim}, q.scalar_type());
  args.dtype = DTypeOfTensor(q);
  args.q = q.data_ptr();
  args.q_stride = q.stride(0);
  args.k = k.data_ptr();
  args.k_stride = k.stride(0);
  args.v = v.data_ptr();
  args.v_stride = v.stride(0);
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.state = pass.pool->fixed(state);
  args.slots = pass.slots;
  args.plan = pass.plan;
  args.sequences = pass.sequences;
  const at::Tensor workspace = EmptyBytes(kernels::cuda::LinearAttentionWorkspaceBytes(args));
  args.workspace = workspace.data_ptr();
  kernels::cuda::RunLinearAttention(args, pass.stream);
  return o;
}

}  // namespace natsl::model_adapters::native::cuda
