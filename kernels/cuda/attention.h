// Causal softmax attention over KV pages on the device.
//
// A pool holds pages of 64 tokens of one head group: keys [pages, heads, 64, key_dim] and values
// [pages, heads, 64, value_dim] of `dtype`. A table lists the pages of every (slot, group), oldest
// first; `keys` counts the tokens that they hold. Plain attention has one group of all kv heads.
// NAtS-L has a group per NAtS head: the list holds the chunks that softmax attention selected, then
// the current chunk's page; a chunk that it didn't select leaves by keys -= 64.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

struct KvPool {
  DType dtype = DType::kBFloat16;
  void* keys = nullptr;
  void* values = nullptr;
  int64_t heads = 0;  ///< kv heads of a group
  int64_t key_dim = 0, value_dim = 0;
};

/// Lists of pages by slot and group.
struct PageTable {
  /// [slots, groups, max_pages]. Entries past a list's end are -1 (so is a fresh table), or a page
  /// that the list holds in reserve.
  int32_t* pages = nullptr;
  int32_t* keys = nullptr;  ///< [slots, groups], tokens held
  int64_t groups = 1, max_pages = 0;
  /// Unused pages, a stack: the next page is free[*free_count - 1]. Kernels pop from it where a
  /// list needs a page. Below zero, *free_count says by how many pages the pool was too small.
  int32_t* free = nullptr;
  int32_t* free_count = nullptr;
};

/// Where the rows of a prefill go and what its queries see; written by RunPlanPages (plain) or
/// RunRouteChunks (NAtS-L), per (chunk of the plan, group).
struct ChunkPages {
  int32_t* past = nullptr;  ///< [max_chunks, groups] pages of the list that the chunk's queries see
  int32_t* page = nullptr;  ///< [max_chunks, groups] page that the chunk's rows go to, or -1: none
  /// [sequences, groups] page to give back after the pass (ReleasePages), or -1.
  int32_t* released = nullptr;
};
int64_t ChunkPagesBytes(const ChunkPlan& plan, int64_t groups);
ChunkPages LayOutChunkPages(const ChunkPlan& plan, int64_t groups, void* memory);

/// Plain attention: takes the pages that the batch needs, raises `keys`. `slots` [sequences].
void RunPlanPages(const ChunkPlan& plan, const int32_t* slots, const PageTable& table,
                  const ChunkPages& out, cudaStream_t stream);

/// Pushes pages that are >= 0 of `pages` [count] back on the stack.
void RunReleasePages(const int32_t* pages, int64_t count, const PageTable& table,
                     cudaStream_t stream);

/// Copies the batch's keys and values into the pages that RunPlanPages / RunRouteChunks chose.
struct StoreKvArgs {
  KvPool pool;
  const ChunkPlan* plan = nullptr;  ///< host pointer
  ChunkPages pages;
  int64_t groups = 1;
  const void* k = nullptr;  ///< [T, groups * heads, key_dim], of the pool's dtype
  int64_t k_stride = 0;
  const void* v = nullptr;
  int64_t v_stride = 0;
};
void RunStoreKv(const StoreKvArgs& args, cudaStream_t stream);

/// Attention of a prefill, after RunStoreKv. Every query of a chunk sees the chunk's `past` pages
/// and its own chunk up to itself. bfloat16 with key_dim 64 and value_dim 128 uses wgmma on Hopper.
struct PrefillAttentionArgs {
  KvPool pool;
  PageTable table;
  const ChunkPlan* plan = nullptr;  ///< host pointer
  ChunkPages pages;
  const int32_t* slots = nullptr;  ///< [sequences]
  const void* q = nullptr;         ///< [T, query_heads, key_dim]
  int64_t q_stride = 0;
  /// The batch's own keys and values, as given to RunStoreKv: own chunks are read from here, except
  /// one that began in an earlier batch (its page has all its rows).
  const void* k = nullptr;
  int64_t k_stride = 0;
  const void* v = nullptr;
  int64_t v_stride = 0;
  void* o = nullptr;  ///< [T, query_heads, value_dim]
  int64_t o_stride = 0;
  int64_t query_heads = 0;  ///< a multiple of groups * pool.heads; head-major
  int64_t window = 0;       ///< plain attention: a query sees this many keys with itself; 0: all
  bool own_chunk = true;    ///< false: past pages only; no key visible gives zeros
  double scale = 0;
  /// > 0: |scale * q.k| never exceeds this (RMS-normed q and k): a fixed maximum may be used.
  double score_bound = 0;
};
void RunPrefillAttention(const PrefillAttentionArgs& args, cudaStream_t stream);

/// Decode attention: one query a sequence over its lists, split over the keys.
struct DecodeAttentionArgs {
  KvPool pool;
  PageTable table;
  const int32_t* slots = nullptr;  ///< [sequences]
  const void* q = nullptr;         ///< [sequences, query_heads, key_dim]
  int64_t q_stride = 0;
  void* o = nullptr;  ///< [sequences, query_heads, value_dim]
  int64_t o_stride = 0;
  int64_t sequences = 0, query_heads = 0;
  int64_t window = 0;
  double scale = 0;
  /// NAtS-L with own_chunk false: absolute positions [sequences]; the last position % 64 + 1 keys
  /// are not seen. Null: all are.
  const int64_t* skip_own_chunk = nullptr;
  int64_t splits = 0;         ///< parts of a list computed apart; 0: chosen from the batch
  void* workspace = nullptr;  ///< DecodeAttentionWorkspaceBytes
  /// Leaves the parts in `workspace` for a kernel that joins them itself: float32 [sequences,
  /// query_heads, splits, 2 + value_dim], the maximum (-infinity: no key), the sum of exponentials,
  /// the weighted values. A single split gives `o` all the same.
  bool parts_only = false;
};
/// The number of parts; 1: no workspace.
int64_t DecodeAttentionSplits(const DecodeAttentionArgs& args);
int64_t DecodeAttentionWorkspaceBytes(const DecodeAttentionArgs& args);
void RunDecodeAttention(const DecodeAttentionArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
