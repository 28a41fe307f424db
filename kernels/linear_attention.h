// Linear attention with decay and additive update (GLA, HGRN2, RetNet, Mamba2, RWKV6), per head n:
//   S_t = exp(g_t) (.) S_{t-1} + k_t v_t^T ;  o_t = scale * S_t^T q_t
// and with a bonus u (RWKV6): o_t = scale * (S_{t-1} + (u*k_t) v_t^T)^T q_t.
// Head n reads q head n / (heads / q_heads), and k, v (and a vector decay) likewise.
// Mamba2: q = C, k = B, v = dt X, g = dt A. Chunked for prefill, the recurrence for short pieces.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

enum class DecayKind {
  kScalarPerHead,   ///< g [heads] constant (RetNet)
  kScalarPerToken,  ///< g [T, heads] (Mamba2)
  kVectorPerToken,  ///< g [T, kv_heads, K] (GLA, HGRN2, RWKV6)
};

struct LinearAttentionArgs {
  DType dtype = DType::kFloat32;
  const void* q = nullptr;  ///< [T, q_heads, K], row stride q_stride; q_heads divides heads
  int64_t q_stride = 0;
  const void* k = nullptr;  ///< [T, kv_heads, K], row stride k_stride; kv_heads divides heads
  int64_t k_stride = 0;
  const void* v = nullptr;  ///< [T, v_heads, V], row stride v_stride; v_heads divides heads
  int64_t v_stride = 0;
  const float* g = nullptr;  ///< log decay (<= 0), layout by `decay`
  DecayKind decay = DecayKind::kVectorPerToken;
  const float* bonus = nullptr;    ///< [heads, K] or null
  void* o = nullptr;               ///< [T, heads, V] contiguous
  float* const* states = nullptr;  ///< per sequence [heads, K, V], updated
  const int64_t* offsets = nullptr;
  int64_t sequences = 0, heads = 0, q_heads = 0, kv_heads = 0, v_heads = 0;
  int64_t key_dim = 0, value_dim = 0;
  double scale = 1;
};

void Validate(const LinearAttentionArgs& args);
void RunLinearAttentionReference(const LinearAttentionArgs& args);
void RunLinearAttentionCpu(const LinearAttentionArgs& args);

}  // namespace natsl::kernels
