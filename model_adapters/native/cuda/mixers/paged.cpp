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

PagedAttention::Parts PagedAttention::Step(const at::Tensor& q, const at::Tensor& k,
                                           const at::Tensor& v, const at::Tensor& o,
                                           const Heads& heads, const Pass& pass, bool join) const {
  kernels::cuda::AttentionStepArgs step;
  step.pool = pass.pool->kv(lists);
  step.table = pass.pool->table(lists);
  step.slots = pass.lists;
  step.v = v.data_ptr();
  step.v_stride = v.stride(0);
  step.sequences = pass.sequences;
  const int64_t key_dim = step.pool.key_dim;
  at::Tensor queries = q, keys = k;
  if (heads.q_norm != nullptr) {
    const auto of_q = heads.q_norm->AsHeadRms(key_dim), of_k = heads.k_norm->AsHeadRms(key_dim);
    if (of_q && of_k && of_q->one_plus == of_k->one_plus) {
      step.normalize = true;
      step.one_plus = of_q->one_plus;
      step.q_weight = of_q->weight;
      step.k_weight = of_k->weight;
      step.q_eps = of_q->eps;
      step.k_eps = of_k->eps;
    } else {
      queries = (*heads.q_norm)(q);
      keys = (*heads.k_norm)(k);
    }
  }
  if (heads.rope != nullptr) heads.rope->Describe(step);
  step.positions = pass.positions;
  step.k = keys.data_ptr();
  step.k_stride = keys.stride(0);
  step.q = queries.data_ptr();
  step.q_stride = queries.stride(0);
  const at::Tensor prepared = EmptyOn({pass.sequences, query_heads * key_dim}, q.scalar_type());
  step.q_out = prepared.data_ptr();
  step.query_heads = query_heads;
  kernels::cuda::RunAttentionStep(step, pass.stream);

  kernels::cuda::DecodeAttentionArgs args;
  args.pool = step.pool;
  args.table = step.table;
  args.slots = pass.lists;
  args.q = prepared.data_ptr();
  args.q_stride = prepared.stride(0);
  args.o = o.data_ptr();
  args.o_stride = o.stride(0);
  args.sequences = pass.sequences;
  args.query_heads = query_heads;
  args.window = window;
  args.scale = scale;
  args.skip_own_chunk = own_chunk ? nullptr : pass.positions;
  args.parts_only = !join;
  Parts parts;
  parts.memory = EmptyBytes(kernels::cuda::DecodeAttentionWorkspaceBytes(args));
  parts.splits = kernels::cuda::DecodeAttentionSplits(args);
  args.workspace = parts.memory.data_ptr();
  kernels::cuda::RunDecodeAttention(args, pass.stream);
  return parts;
}

}  // namespace natsl::model_adapters::native::cuda
