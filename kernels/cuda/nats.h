// NAtS-L's router on the device: pooled chunk inputs, choices per chunk and head, page lists.
//
// Prefill, a layer: RunPoolChunks -> the caller's product with the score weights -> RunChooseChunks
// -> RunRouteChunks -> RunStoreKv -> RunPrefillAttention, RunDeltaRule -> RunReleasePages.
// Decode: the same with one row a sequence; RunAttentionStep -> RunDecodeAttention, RunDeltaRule ->
// RunCloseChunks.
#pragma once

#include "kernels/cuda/attention.h"

namespace natsl::kernels::cuda {

/// mean[c] = mean of the 64 layer inputs of chunk c, of dtype; for chunks that don't complete in
/// this batch 0. Carries partial sums: pooled [slots, hidden] float32.
struct PoolChunksArgs {
  DType dtype = DType::kBFloat16;
  const void* h = nullptr;  ///< [T, hidden]
  int64_t h_stride = 0;
  const ChunkPlan* plan = nullptr;     ///< host pointer; null: a decode step
  const int64_t* positions = nullptr;  ///< decode: [sequences]
  float* pooled = nullptr;
  StateSlots slots;
  void* mean = nullptr;  ///< [max_chunks, hidden] ([sequences, hidden] in a decode step)
  int64_t sequences = 0, hidden = 0;
};
void RunPoolChunks(const PoolChunksArgs& args, cudaStream_t stream);

/// softmax[c, n] = 1 where score 0 (attention) wins; the scores' softmax is rounded to dtype and
/// ties go to attention. `forced` (same shape as softmax: 0, 1, other = free) overrides.
struct ChooseChunksArgs {
  DType dtype = DType::kBFloat16;
  const void* scores = nullptr;  ///< [rows, heads, 2]
  int64_t scores_stride = 0;
  const uint8_t* forced = nullptr;
  uint8_t* softmax = nullptr;  ///< [rows, heads]
  int64_t rows = 0, heads = 0;
};
void RunChooseChunks(const ChooseChunksArgs& args, cudaStream_t stream);

/// Updates the lists of a batch's sequences by their choices: see ChunkPages. `slots` [sequences].
void RunRouteChunks(const ChunkPlan& plan, const uint8_t* softmax, const int32_t* slots,
                    const PageTable& table, const ChunkPages& out, cudaStream_t stream);

/// After a decode step's attention: where positions[s] % 64 == 63, lists whose head didn't choose
/// softmax forget the chunk. softmax [sequences, groups].
void RunCloseChunks(const int64_t* positions, const uint8_t* softmax, const int32_t* slots,
                    int64_t sequences, const PageTable& table, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
