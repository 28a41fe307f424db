// What the chunked forms share: chunk views, padding, the wider type of states.
#pragma once

#include <vector>

#include "model_adapters/native/torch_headers.h"
#include "training/network.h"

namespace natsl::training {

/// The type of decays, states and statistics beside activations of type `dtype`.
inline at::ScalarType StateType(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

/// [B, H, T, X] or [B, H, T] → the same with zeros up to whole chunks.
inline at::Tensor PadToChunks(const at::Tensor& x) {
  const int64_t missing = (kChunkTokens - x.size(2) % kChunkTokens) % kChunkTokens;
  if (missing == 0) return x;
  if (x.dim() == 3) return at::constant_pad_nd(x, {0, missing});
  return at::constant_pad_nd(x, {0, 0, 0, missing});
}

/// [B, H, whole chunks, X] → [B * H * chunks, 64, X].
inline at::Tensor Chunks(const at::Tensor& x) { return x.reshape({-1, kChunkTokens, x.size(3)}); }

/// The inverse of Chunks and PadToChunks: [B, H, tokens, X].
inline at::Tensor Tokens(const at::Tensor& chunks, int64_t batch, int64_t heads, int64_t tokens) {
  return chunks.view({batch, heads, -1, chunks.size(2)}).narrow(2, 0, tokens);
}

/// Every entry of dimension `dim` `count` times in a row.
inline at::Tensor Repeat(const at::Tensor& x, int64_t count, int64_t dim) {
  if (count == 1) return x;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.insert(sizes.begin() + dim + 1, count);
  return x.unsqueeze(dim + 1).expand(sizes).flatten(dim, dim + 1);
}

}  // namespace natsl::training
