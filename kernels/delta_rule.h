// The (gated) delta rule, per value head m with q/k head m / (value_heads / heads):
//   S = exp(g_t) S;  u = beta_t (v_t - S^T k_t);  S += k_t u^T;  o_t = scale S^T q_t
// (q and k already normalised). Chunked for prefill, the recurrence for short pieces.
//
// With `nats` the state follows NAtS-L: at the end of each complete chunk of 64 absolute positions,
// a head whose chunk isn't linear returns to its chunk-start state, times the chunk's total decay
// if decay_over_softmax_chunks.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

/// NAtS-L's extra state of one sequence. `first_position % 64` is its place in the current chunk.
/// chunk_start and chunk_log_decay are read only where that isn't 0, and are left unspecified by a
/// call that ends on a chunk boundary: the chunk's first token sets them.
struct NatsDeltaState {
  float* chunk_start = nullptr;      ///< S0 [value_heads, K, V]
  float* chunk_log_decay = nullptr;  ///< Gs [value_heads], sum of g over the current chunk
  int64_t first_position = 0;        ///< absolute position of the sequence's first row here
  /// Per chunk that completes in this call, [completed, value_heads]: 1 = the linear branch keeps
  /// it.
  const uint8_t* keep = nullptr;
};

/// kPastOnly (needs `nats`): outputs read only earlier chunks, o_t = scale exp(Gs_t) S0^T q_t.
enum class OwnChunkRule { kAll, kPastOnly };

struct DeltaRuleArgs {
  DType dtype = DType::kFloat32;
  const void* q = nullptr;  ///< [T, heads, K], row stride q_stride
  int64_t q_stride = 0;
  const void* k = nullptr;  ///< [T, heads, K], row stride k_stride
  int64_t k_stride = 0;
  const void* v = nullptr;  ///< [T, value_heads, V], row stride v_stride
  int64_t v_stride = 0;
  const float* g = nullptr;              ///< log decay [T, value_heads] (<= 0), or null: none
  const float* beta = nullptr;           ///< [T, value_heads]
  bool beta_above_one = false;           ///< beta |k|^2 may exceed 1 (negative eigenvalues)
  void* o = nullptr;                     ///< [T, value_heads, V], contiguous
  float* const* states = nullptr;        ///< per sequence [value_heads, K, V], updated
  const NatsDeltaState* nats = nullptr;  ///< per sequence, or null
  bool decay_over_softmax_chunks = false;
  OwnChunkRule own_chunk = OwnChunkRule::kAll;
  const int64_t* offsets = nullptr;
  int64_t sequences = 0, heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  double scale = 1;
};

void Validate(const DeltaRuleArgs& args);
void RunDeltaRuleReference(const DeltaRuleArgs& args);
void RunDeltaRuleCpu(const DeltaRuleArgs& args);

}  // namespace natsl::kernels
