// The recurrent mixers token by token, for decode steps, float32 and odd sizes: one kernel behind
// RunDeltaRule and RunLinearAttention.
#pragma once

#include "kernels/cuda/delta_rule.h"
#include "kernels/cuda/linear_attention.h"

namespace natsl::kernels::cuda {

struct Recurrence {
  DType dtype = DType::kBFloat16;
  bool delta = false, normalize_qk = false;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;
  int64_t q_share = 1, k_share = 1, v_share = 1;  ///< heads that read one head of q, k, v
  const float *g = nullptr, *beta = nullptr, *bonus = nullptr;
  DecayKind decay = DecayKind::kScalarPerToken;
  void* o = nullptr;
  float* state = nullptr;
  StateSlots slots;
  const int64_t* offsets = nullptr;         ///< null: one row a sequence
  const int64_t* first = nullptr;           ///< absolute position of each sequence's first row
  const int32_t* sequence_chunk = nullptr;  ///< of the plan
  bool nats = false;
  NatsDelta nats_state;
  float* chunk_start = nullptr;  ///< prefill with `nats`: scratch [sequences, heads, K, V]
  int64_t sequences = 0, heads = 0, key_dim = 0, value_dim = 0;
  float scale = 1;
};

void RunRecurrence(const Recurrence& args, cudaStream_t stream);

/// NAtS-L's chunk_log_decay after the batch (after every kernel that reads it).
void RunChunkLogDecay(const Recurrence& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
