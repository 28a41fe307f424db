// CUDA kernels of the chunked delta rule: what would be long chains of small products by ATen.
// Conventions of fused.h.
#pragma once

#include "training/cuda/kernels/fused.h"

namespace natsl::training::cuda {

/// out = (I + a)^-1 for `count` strictly lower triangular 64 x 64 matrices, by substitution in
/// float32. What stands on or above a's diagonal isn't read.
struct InverseArgs {
  Element element = Element::kFloat32;
  const void* a = nullptr;
  void* out = nullptr;
  int64_t count = 0;
};
void RunUnitLowerInverse(const InverseArgs& args, cudaStream_t stream);

/// out[n, t, j] = exp(b[n, t] - b[n, j]) for j <= t, else 0; b [count, 64] float32.
struct DecayMatrixArgs {
  Element element = Element::kFloat32;
  const float* b = nullptr;
  void* out = nullptr;
  int64_t count = 0;
};
void RunDecayMatrix(const DecayMatrixArgs& args, cudaStream_t stream);

/// For each group a matrix S [keys, values], from zeros: out_c = S, then S = decay_c S - erase_c S
/// + increment_c, over the chunks in order. `backward`: from the last chunk to the first, with the
/// erase matrices transposed. All contiguous [groups, chunks, ...]; decay float32 or null (ones).
struct ErasingScanArgs {
  Element element = Element::kFloat32;
  const void* erase = nullptr;      ///< [groups, chunks, keys, keys]
  const void* increment = nullptr;  ///< [groups, chunks, keys, values]
  const float* decay = nullptr;     ///< [groups, chunks]
  void* out = nullptr;              ///< [groups, chunks, keys, values]
  int64_t groups = 0, chunks = 0, keys = 0, values = 0;
  bool backward = false;
};
/// Keys 32, 64 or 128, values in whole tiles of 16.
bool ErasingScanIsSupported(const ErasingScanArgs& args);
void RunErasingScan(const ErasingScanArgs& args, cudaStream_t stream);

}  // namespace natsl::training::cuda
