// The engine's own small kernels: page lists of forks, forced choices, counters. Same conventions
// as kernels/cuda/common.h.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/attention.h"

namespace natsl::model_adapters::native::cuda {

/// Whether this program holds code for the current device.
bool KernelsRunHere();

/// One layer's keys, values and lists, as kernels that work on all layers see them.
struct KvLayerView {
  kernels::cuda::PageTable table;
  int32_t* more_owners = nullptr;  ///< [pages], lists that hold the page beyond the first
  char* keys = nullptr;            ///< the pool's
  char* values = nullptr;
  int64_t key_page_bytes = 0, value_page_bytes = 0;
  bool selected = false;   ///< lists hold the chunks that NAtS-L selected, not every one
  int64_t first_head = 0;  ///< selected: of this layer's heads among those of all such layers
  int64_t window = 0;      ///< a query sees this many keys with itself; 0: all
};

/// Pages at the front of a list of `keys` keys that no later query sees.
__host__ __device__ inline int64_t HiddenPages(int64_t keys, int64_t window) {
  return window > 0 && keys >= window ? (keys + 1 - window) / kernels::kPageTokens : 0;
}

/// List pairs[2 i + 1] (empty) becomes a copy of list pairs[2 i] in every layer: full pages are
/// shared, a partly filled one is copied. A source may occur several times.
void RunForkLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                  const int32_t* pairs, int64_t count, cudaStream_t stream);
/// Empties lists; pages that no other list holds become free.
void RunReleaseLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                     const int32_t* lists, int64_t count, cudaStream_t stream);

/// Hidden pages of layers with a window leave the lists (their entries become -1); those that no
/// other list holds become free. `gaps`: behind held pages entries may be -1 already, as
/// RunLengthenLists leaves them.
void RunDropHidden(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                   const int32_t* lists, int64_t count, bool gaps, cudaStream_t stream);

/// Lengthens lists by copies of their pages, in front of a partly filled one: by `added` pages, or
/// by as many as a selected list's share of `chunks` chunks gives. No list occurs twice or shares
/// its last page; the pools have the pages. Pages that would be hidden are not made.
void RunLengthenLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                      const int32_t* lists, int64_t count, int64_t chunks, int64_t added,
                      cudaStream_t stream);

/// counts[i, h] = chunks that list lists[i] holds whole of selected head h, all layers' heads in
/// order; 0 where lists[i] is -1.
void RunCountSelected(const KvLayerView* layers, int64_t layer_count, const int32_t* lists,
                      int64_t count, int64_t heads, int32_t* counts, cudaStream_t stream);

/// forced[c, n] = whether chunk c goes to softmax attention (native/model_info.h's ForcedChoice).
/// With a plan: its chunks; without: chunks positions[s] / 64 of `rows` sequences.
struct ForceChoicesArgs {
  const kernels::cuda::ChunkPlan* plan = nullptr;  ///< host pointer
  const int64_t* positions = nullptr;
  int64_t rows = 0, heads = 0, layer = 0;
  double share = 0;
  uint8_t* forced = nullptr;  ///< [rows or max_chunks, heads]
};
void RunForceChoices(const ForceChoicesArgs& args, cudaStream_t stream);

/// counts[n] += {chosen for softmax, all} over the chunks that complete; shapes as above.
struct CountChoicesArgs {
  const kernels::cuda::ChunkPlan* plan = nullptr;
  const int64_t* positions = nullptr;
  int64_t rows = 0, heads = 0;
  const uint8_t* softmax = nullptr;
  unsigned long long* counts = nullptr;  ///< [heads, 2]
};
void RunCountChoices(const CountChoicesArgs& args, cudaStream_t stream);

/// history[*step, s] = ids[s] and ++positions[s] for `count` sequences; then *step += 1. One block.
void RunBeginStep(const int32_t* ids, int64_t count, int32_t* history, int64_t* step,
                  int64_t* positions, cudaStream_t stream);

}  // namespace natsl::model_adapters::native::cuda
