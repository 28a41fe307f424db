// Softmax attention over a layer's page lists, as plain attention and NAtS-L use it.
#pragma once

#include "kernels/cuda/attention.h"
#include "model_adapters/native/cuda/ops.h"

namespace natsl::model_adapters::native::cuda {

struct PagedAttention {
  int64_t lists = 0;  ///< number in the state pool
  int64_t groups = 1, query_heads = 0;
  int64_t window = 0;
  double scale = 0, score_bound = 0;
  bool own_chunk = true;

  /// Memory and layout of the pass's ChunkPages; the tensor keeps it alive.
  kernels::cuda::ChunkPages LayOut(const Pass& pass, at::Tensor& memory) const;
  void Store(const at::Tensor& k, const at::Tensor& v, const kernels::cuda::ChunkPages& pages,
             const Pass& pass) const;
  /// After Store.
  void Prefill(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& o,
               const kernels::cuda::ChunkPages& pages, const Pass& pass) const;

  /// What happens to the heads of q and k before a step's attention; null: nothing.
  struct Heads {
    const Norm *q_norm = nullptr, *k_norm = nullptr;
    const Rope* rope = nullptr;
  };
  /// The parts of a step's attention where they are left to be joined; `splits` is 1 where `o` has
  /// the result.
  struct Parts {
    at::Tensor memory;
    int64_t splits = 1;
  };
  /// Norms and rotates q and k, appends the step's keys and values, attends.
  Parts Step(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& o,
             const Heads& heads, const Pass& pass, bool join = true) const;
};

}  // namespace natsl::model_adapters::native::cuda
