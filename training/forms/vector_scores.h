// Scores inside chunks under a vector decay.
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// scores[t, j] = sum over k of q_tk k_jk exp(bq_tk - b_jk) for j < t, else 0: q, k in any type;
/// bq, b [N, C, K] in the state's type with bq_t <= b_j wherever j < t. → [N, C, C]. By halves: the
/// later half of a block against the earlier one with the border's b as pivot, so that no exponent
/// is positive; blocks of 4 pair by pair.
at::Tensor VectorDecayScores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& bq,
                             const at::Tensor& b);

}  // namespace natsl::training
