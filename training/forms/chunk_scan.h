// States at the starts of chunks: the only recurrences that run over chunks one by one.
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// S_0 = 0, S_{c+1} = decay_c S_c - erase_c S_c + increment_c. erase [G, chunks, K, K] and
/// increment [G, chunks, K, V] in any type; decay [G, chunks] in the state's type, or undefined:
/// ones. → S_0 ... S_{chunks-1} [G, chunks, K, V] in the increments' type; carried in the state's.
at::Tensor ErasingScan(const at::Tensor& erase, const at::Tensor& increment,
                       const at::Tensor& decay);

/// S_0 = 0, S_{c+1} = decay_c * S_c + increment_c; decay [G, chunks, K or 1] broadcasts over the
/// rows of S.
at::Tensor DecayingScan(const at::Tensor& increment, const at::Tensor& decay);

}  // namespace natsl::training
