// The (gated) delta rule on the device: kernels/delta_rule.h has its definition.
//
// Chunked on tensor cores for bfloat16 prefill (key_dim 64, 128, 192, value_dim a multiple of 64),
// split into segments where there are too few sequences and heads to fill the device; the
// recurrence for everything else (decode, float32, other sizes).
#pragma once

#include "kernels/cuda/common.h"
#include "kernels/delta_rule.h"

namespace natsl::kernels::cuda {

/// NAtS-L's extra state, in slots like the recurrent state.
struct NatsDelta {
  float* chunk_start = nullptr;      ///< [slots, value_heads, K, V]
  float* chunk_log_decay = nullptr;  ///< [slots, value_heads]
  /// [max_chunks, softmax_heads] by the plan's chunks ([sequences, softmax_heads] in a decode
  /// step): 1 = softmax attention keeps the chunk, so that the state returns to the chunk's start.
  /// Read only for chunks that complete.
  const uint8_t* softmax = nullptr;
  int64_t softmax_heads = 0;  ///< divides value_heads
  bool decay_over_softmax_chunks = false;
  OwnChunkRule own_chunk = OwnChunkRule::kAll;
};

struct DeltaRuleArgs {
  DType dtype = DType::kBFloat16;
  const void* q = nullptr;  ///< [T, heads, K]
  int64_t q_stride = 0;
  const void* k = nullptr;  ///< [T, heads, K]
  int64_t k_stride = 0;
  const void* v = nullptr;  ///< [T, value_heads, V]
  int64_t v_stride = 0;
  /// q and k are L2-normalised (x / sqrt(sum x^2 + 1e-6)) by the kernel in float32.
  bool normalize_qk = false;
  const float* g = nullptr;     ///< log decay [T, value_heads], or null: none
  const float* beta = nullptr;  ///< [T, value_heads], or null: ones
  void* o = nullptr;            ///< [T, value_heads, V]
  int64_t o_stride = 0;
  float* state = nullptr;  ///< [slots, value_heads, K, V]
  StateSlots slots;
  const NatsDelta* nats = nullptr;  ///< host pointer, or null
  const ChunkPlan* plan = nullptr;  ///< host pointer; null: a decode step, one row a sequence
  /// Decode: absolute position of the sequence's row [sequences]. NAtS-L only.
  const int64_t* positions = nullptr;
  int64_t sequences = 0, heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  double scale = 1;
  void* workspace = nullptr;  ///< DeltaRuleWorkspaceBytes
};

/// 0 for decode steps (plan == nullptr).
int64_t DeltaRuleWorkspaceBytes(const DeltaRuleArgs& args);
void RunDeltaRule(const DeltaRuleArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
