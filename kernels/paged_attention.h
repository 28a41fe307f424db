// Causal softmax attention over keys and values in pages of kPageTokens (64) tokens.
//
// Work is a list of blocks: up to 64 consecutive queries of one sequence and one head group, and
// the list of pages they see. Plain attention has one group (all kv heads) and lists all pages;
// NAtS-L has a group per NAtS head and lists the selected chunks' pages and the own chunk's. A page
// holds K as [heads_in_group, 64, key_dim] and V as [heads_in_group, 64, value_dim], of dtype
// kv_dtype.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

/// Queries q0 .. q0+count-1 (packed rows) of one group. Query i sees keys [lo, first_key + i], keys
/// counted along the page list; lo = 0, or first_key + i - window + 1 with a window.
struct AttentionBlock {
  int64_t query_row = 0;
  int64_t query_count = 0;
  int64_t group = 0;
  int64_t first_key = 0;                   ///< number of keys before the first query's own
  const void* const* key_pages = nullptr;  ///< ceil((first_key + query_count) / 64) pages
  const void* const* value_pages = nullptr;
};

struct PagedAttentionArgs {
  DType dtype = DType::kFloat32;
  DType kv_dtype = DType::kFloat32;  ///< CPU: kFloat32
  const void* q = nullptr;           ///< [T, query_heads, key_dim], row stride q_stride
  int64_t q_stride = 0;
  void* o = nullptr;  ///< [T, query_heads, value_dim], row stride o_stride
  int64_t o_stride = 0;
  const AttentionBlock* blocks = nullptr;
  int64_t block_count = 0;
  int64_t groups = 1;
  int64_t query_heads = 0;  ///< multiple of groups * kv_heads_per_group; head-major
  int64_t kv_heads_per_group = 0;
  int64_t key_dim = 0, value_dim = 0;
  int64_t window = 0;  ///< 0: none
  double scale = 0;
};

/// Pages of the block's list that hold keys: ceil((first_key + query_count) / 64).
constexpr int64_t PageCount(const AttentionBlock& block) {
  return (block.first_key + block.query_count + kPageTokens - 1) / kPageTokens;
}

/// The first page of the block's list with a key inside the first query's window; the entries
/// before it are never read and may be null.
constexpr int64_t FirstVisiblePage(const PagedAttentionArgs& args, const AttentionBlock& block) {
  if (args.window == 0 || block.first_key < args.window) return 0;
  return (block.first_key - args.window + 1) / kPageTokens;
}

void Validate(const PagedAttentionArgs& args);
void RunPagedAttentionReference(const PagedAttentionArgs& args);
void RunPagedAttentionCpu(const PagedAttentionArgs& args);

/// Writes token rows into pages: rows r of k [T, kv_heads, key_dim] and v go to slot[r] of the
/// pages of their sequence (for all groups). `key_page[r * groups + g]`: page of row r and group g.
struct AppendKvArgs {
  DType dtype = DType::kFloat32;
  DType kv_dtype = DType::kFloat32;
  const void* k = nullptr;  ///< row stride k_stride
  int64_t k_stride = 0;
  const void* v = nullptr;  ///< row stride v_stride
  int64_t v_stride = 0;
  void* const* key_pages = nullptr;    ///< [tokens * groups]
  void* const* value_pages = nullptr;  ///< [tokens * groups]
  const int64_t* slots = nullptr;      ///< [tokens], 0..63
  int64_t tokens = 0, groups = 1, kv_heads_per_group = 0, key_dim = 0, value_dim = 0;
};

void Validate(const AppendKvArgs& args);
void RunAppendKvCpu(const AppendKvArgs& args);

}  // namespace natsl::kernels
