// The (gated) delta rule in its chunked WY form.
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// S_t = e^{g_t} S_{t-1} + k_t u_t^T,  u_t = beta_t (v_t - (e^{g_t} S_{t-1})^T k_t),  o_t = S_t^T
/// q_t for every head of every sequence, from S_0 = 0.
struct DeltaRuleInputs {
  at::Tensor q, k;  ///< [B, H, T, K], normalised; q carries the output's scale
  at::Tensor v;     ///< [B, H, T, V]
  at::Tensor beta;  ///< [B, H, T]
  at::Tensor g;     ///< [B, H, T] log decay in the state's type, or undefined
  /// NAtS-L: [B, H, chunks] in the state's type, 1 or 0: a factor on what a chunk leaves in the
  /// state for later chunks (its own tokens always read it). Undefined: ones. A chunk that leaves
  /// nothing decays the state only if `decay_over_dropped`.
  at::Tensor keep;
  bool decay_over_dropped = false;
};
/// → o [B, H, T, V] in v's type.
at::Tensor DeltaRule(const DeltaRuleInputs& inputs);

}  // namespace natsl::training
