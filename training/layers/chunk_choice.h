// NAtS-L's choice of who keeps a chunk: hard forward, straight-through backward.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace natsl::training {

/// A chosen operation's gate is exactly 1 and has the gradient of its softmaxed score; the other's
/// has none. A gate multiplies what the chunk gives to later chunks.
struct ChunkChoice {
  at::Tensor softmax;       ///< [B, heads, chunks] bool: attention keeps the chunk
  at::Tensor softmax_gate;  ///< ones, with the score's gradient: to be used where chosen
  at::Tensor linear_gate;   ///< 1 where the linear branch keeps the chunk, else 0
};

/// Scores every complete chunk of h [B, T, hidden] by its mean in the weight's type; weight
/// [2 heads, hidden], row 2 n + op, op 0 attention, 1 the linear branch; attention wins ties. An
/// incomplete last chunk has no later ones to serve: its entries are constants. `shares`: receives
/// the share [heads] of complete chunks that chose attention, without gradient.
ChunkChoice ChooseChunks(const at::Tensor& h, const at::Tensor& weight, int64_t heads,
                         std::vector<at::Tensor>* shares);

}  // namespace natsl::training
