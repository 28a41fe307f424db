// What comes before a decode step's attention, in one kernel: RMS norms of the heads of q and k and
// rotary embedding, with the arithmetic of RunNorm and RunRope, dtype's roundings included; then
// the new key and value at the end of the sequence's lists (taking a page where the last is full),
// whose `keys` rise by one.
#pragma once

#include "kernels/cuda/attention.h"

namespace natsl::kernels::cuda {

struct AttentionStepArgs {
  KvPool pool;
  PageTable table;
  const int32_t* slots = nullptr;  ///< [sequences]
  const void* q = nullptr;         ///< [sequences, query_heads, key_dim], of the pool's dtype
  int64_t q_stride = 0;
  const void* k = nullptr;  ///< [sequences, groups * heads, key_dim]
  int64_t k_stride = 0;
  const void* v = nullptr;
  int64_t v_stride = 0;
  void* q_out = nullptr;  ///< as q, contiguous; another buffer
  int64_t sequences = 0, query_heads = 0;

  bool normalize = false;
  const float* q_weight = nullptr;  ///< [key_dim] or null: ones
  const float* k_weight = nullptr;
  bool one_plus = false;  ///< weights are 1 + w
  double q_eps = 0, k_eps = 0;

  const float* inverse_frequencies = nullptr;  ///< [rotary_dims / 2]; null: no rotary embedding
  int64_t rotary_dims = 0;
  double attention_factor = 1;
  const int64_t* positions = nullptr;  ///< [sequences]
};

/// Key dimensions up to 256.
void RunAttentionStep(const AttentionStepArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
