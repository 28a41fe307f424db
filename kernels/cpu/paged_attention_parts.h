// The two ways in which paged attention runs on the processor, each on one piece of a block.
//
// A column is one query of one query head: column i * shared + j is query i of the block and the
// j-th of the `shared` query heads that read the same kv head. Scores are kept in base 2: queries
// are multiplied by scale * log2(e), and weights are powers of 2.
#pragma once

#include "kernels/paged_attention.h"

namespace natsl::kernels {

/// Most columns of a tile, and the row length of its buffers.
constexpr int64_t kTileColumns = 64;

/// Up to 64 columns against all their pages.
struct AttentionTile {
  const AttentionBlock* block = nullptr;
  int64_t kv_head = 0;  ///< inside the block's group
  int64_t first_column = 0;
  int64_t columns = 0;
};

/// Floats of the working memory (64-byte aligned) that a tile needs.
constexpr int64_t TileScratchFloats(const PagedAttentionArgs& args) {
  return (args.key_dim + args.value_dim + kPageTokens + 5) * kTileColumns;
}

void AttendTile(const PagedAttentionArgs& args, const AttentionTile& tile, float* scratch);

/// All query heads of one kv head for a block of one query, against pages [first_page, end_page).
struct AttentionPart {
  const AttentionBlock* block = nullptr;
  int64_t kv_head = 0;
  int64_t first_page = 0;
  int64_t end_page = 0;
  /// Per shared head: highest score, total weight, unnormalised output [value_dim].
  float* result = nullptr;
};

/// Query heads of a kv head up to which parts are used; above, tiles fill the vectors better.
constexpr int64_t kMostPartHeads = 8;

constexpr int64_t PartResultFloats(const PagedAttentionArgs& args) { return args.value_dim + 2; }

constexpr int64_t PartScratchFloats(const PagedAttentionArgs& args) {
  return kMostPartHeads * (args.key_dim + kPageTokens);
}

void AttendPart(const PagedAttentionArgs& args, const AttentionPart& part, float* scratch);

/// Query heads that share a kv head.
constexpr int64_t SharedHeads(const PagedAttentionArgs& args) {
  return args.query_heads / (args.groups * args.kv_heads_per_group);
}

/// The first of the query heads that read kv head `kv_head` of the block's group.
constexpr int64_t FirstQueryHead(const PagedAttentionArgs& args, const AttentionBlock& block,
                                 int64_t kv_head) {
  return (block.group * args.kv_heads_per_group + kv_head) * SharedHeads(args);
}

}  // namespace natsl::kernels
