// Softmax attention whose past is chosen chunk by chunk (NAtS-L's softmax branch).
#pragma once

#include <ATen/core/Tensor.h>

namespace natsl::training {

/// A query sees its own chunk up to itself, and the earlier chunks that `chosen` [B, H, chunks]
/// (bool) selects. `gate` [B, H, chunks] multiplies exp(score) of a chosen chunk's keys for the
/// later chunks' queries: pass ones, its gradient is what is wanted. q, k [B, H, T, K], v [B, H, T,
/// V] → [B, H, T, V].
at::Tensor ChunkAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& chosen, const at::Tensor& gate, double scale);

}  // namespace natsl::training
