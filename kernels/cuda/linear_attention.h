// Linear attention with decay on the device: kernels/linear_attention.h has its definition.
//
// Chunked on tensor cores for bfloat16 prefill (key_dim 64, 128, 256, value_dim a multiple of 64);
// the recurrence for everything else.
#pragma once

#include "kernels/cuda/common.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels::cuda {

struct LinearAttentionArgs {
  DType dtype = DType::kBFloat16;
  const void* q = nullptr;  ///< [T, q_heads, K]
  int64_t q_stride = 0;
  const void* k = nullptr;  ///< [T, kv_heads, K]
  int64_t k_stride = 0;
  const void* v = nullptr;  ///< [T, v_heads, V]
  int64_t v_stride = 0;
  const float* g = nullptr;  ///< log decay (<= 0), layout by `decay` (kernels/linear_attention.h)
  DecayKind decay = DecayKind::kVectorPerToken;
  const float* bonus = nullptr;  ///< [heads, K] or null
  void* o = nullptr;             ///< [T, heads, V]
  int64_t o_stride = 0;
  float* state = nullptr;  ///< [slots, heads, K, V]
  StateSlots slots;
  const ChunkPlan* plan = nullptr;  ///< host pointer; null: a decode step, one row a sequence
  int64_t sequences = 0, heads = 0, q_heads = 0, kv_heads = 0, v_heads = 0;
  int64_t key_dim = 0, value_dim = 0;
  double scale = 1;
  void* workspace = nullptr;  ///< LinearAttentionWorkspaceBytes
};

int64_t LinearAttentionWorkspaceBytes(const LinearAttentionArgs& args);
void RunLinearAttention(const LinearAttentionArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
