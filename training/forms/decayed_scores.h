// Scores inside chunks under a scalar decay.
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// scores[t, j] = exp(b_t - b_j) q_t . k_j for j <= t, else 0. q, k [N, C, K]; b [N, C], the
/// cumulative log decay in the state's type, or undefined: no decay. → [N, C, C].
at::Tensor DecayedScores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& b);

struct DeltaScores {
  at::Tensor scores;       ///< as above
  at::Tensor corrections;  ///< exp(b_t - b_j) (beta_t k_t) . k_j for j < t, else 0
};
/// `scaled_k`: beta_t k_t.
DeltaScores DecayedDeltaScores(const at::Tensor& q, const at::Tensor& scaled_k, const at::Tensor& k,
                               const at::Tensor& b);

}  // namespace natsl::training
