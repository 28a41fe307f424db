// What the layers know of one packed pass, or of a decode step.
#pragma once

#include <vector>

#include "kernels/cuda/attention.h"
#include "model_adapters/native/cuda/state_pool.h"

namespace natsl::model_adapters::native {
class ChunkChoices;
}

namespace natsl::model_adapters::native::cuda {

/// How NAtS-L's choices are made and counted.
struct ChoicePolicy {
  std::optional<double> forced_share;
  ChunkChoices* next = nullptr;          ///< asked on the host about every chunk; tests alone
  unsigned long long* counts = nullptr;  ///< device [layers, heads, 2]
  int64_t most_heads = 0;                ///< row length of `counts`
};

/// Device pointers unless it says host. A decode step has one row a sequence and no plan.
struct Pass {
  int64_t tokens = 0, sequences = 0;
  const int32_t* ids = nullptr;        ///< [tokens]
  const int64_t* positions = nullptr;  ///< [tokens]
  kernels::cuda::StateSlots slots;
  const int32_t* lists = nullptr;                  ///< [sequences] page lists
  const kernels::cuda::ChunkPlan* plan = nullptr;  ///< host pointer; null: a decode step
  std::vector<int64_t> host_offsets, host_first;   ///< of a prefill
  StatePool* pool = nullptr;
  const ChoicePolicy* choices = nullptr;
  cudaStream_t stream = nullptr;

  const int64_t* offsets() const { return plan == nullptr ? nullptr : plan->offsets; }
  bool decode() const { return plan == nullptr; }
};

}  // namespace natsl::model_adapters::native::cuda
