// Argument structs of the attention kernels.
#include "model_adapters/native/cuda/mixers/paged.h"

namespace natsl::model_adapters::native::cuda {

kernels::cuda::ChunkPages PagedAttention::LayOut(const Pass& pass, at::Tensor& memory) const {
  memory = EmptyBytes(kernels::cuda::ChunkPagesBytes(*pass.plan, groups));
  return kernels::cuda::LayOutChunkPages(*pass.plan, groups, memory.data_ptr());
}

void PagedAttention::Store(const at::Tensor& k, const at::Tensor& v,
                           const kernels::cuda::ChunkPages& pages, const Pass& pass) const {
  kernels::cuda::StoreKvArgs args;
  args.pool = pass.pool->kv(lists);
  args.plan = pass.plan;
  args.pages = pages;
  args.groups = groups;
  args.k = k.data_ptr();
  args.k_stride = k.stride(0);
  args.v = v.data_ptr();
  args.v_stride = v.stride(0);
  kernels::cuda::RunStoreKv(args, pass.stream);
}

void PagedAttention::Prefill(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const at::Tensor& o, const kernels::cuda::ChunkPages& pages,
                             const Pass& pass) const {
  kernels::cuda::PrefillAttentionArgs args;
  args.pool = pass.pool->kv(lists);
  args.table = pass.pool->table(lists);
  args.plan = pass.plan;
  args.pages = pages;
  args.slots = pass.lists;
  args.q = q.data_ptr();
  args.q_stride = q.stride(0);
  args.k = k.data_ptr();
  args.k_stride = k.stride(0);
  args.v = v.data_ptr();
  args.v_stride = v.stride(0);
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.query_heads = query_heads;
  args.window = window;
  args.own_chunk = own_chunk;
  args.scale = scale;
  args.score_bound = score_bound;
  kernels::cuda::RunPrefillAttention(args, pass.stream);
}

void PagedAttention::Step(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& o, const Pass& pass) const {
  kernels::cuda::AppendKvArgs append;
  append.pool = pass.pool->kv(lists);
  append.table = pass.pool->table(lists);
  append.slots = pass.lists;
  append.k = k.data_ptr();
  append.k_stride = k.stride(0);
  append.v = v.data_ptr();
  append.v_stride = v.stride(0);
  append.sequences = pass.sequences;
  kernels::cuda::RunAppendKv(append, pass.stream);

  kernels::cuda::DecodeAttentionArgs args;
  args.pool = append.pool;
  args.table = append.table;
  args.slots = pass.lists;
  args.q = q.data_ptr();
  args.q_stride = q.stride(0);
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.sequences = pass.sequences;
  args.query_heads = query_heads;
  args.window = window;
  args.scale = scale;
  args.skip_own_chunk = own_chunk ? nullptr : pass.positions;
  const at::Tensor workspace = EmptyBytes(kernels::cuda::DecodeAttentionWorkspaceBytes(args));
  args.workspace = workspace.data_ptr();
  kernels::cuda::RunDecodeAttention(args, pass.stream);
}

}  // namespace natsl::model_adapters::native::cuda
