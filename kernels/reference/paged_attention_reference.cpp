// The definition of paged attention: argument checks and softmax attention, query by query, in
// double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/paged_attention.h"
#include "kernels/require.h"

namespace natsl::kernels {
namespace {

void RequireBlock(const PagedAttentionArgs& args, int64_t index) {
  const AttentionBlock& block = args.blocks[index];
  Require(block.query_row >= 0, "paged attention: blocks[{}].query_row is {}, expected >= 0", index,
          block.query_row);
  Require(block.query_count >= 0 && block.query_count <= kPageTokens,
          "paged attention: blocks[{}].query_count is {}, expected 0 to {}", index,
          block.query_count, kPageTokens);
  Require(block.group >= 0 && block.group < args.groups,
          "paged attention: blocks[{}].group is {}, expected 0 to groups - 1 = {}", index,
          block.group, args.groups - 1);
  Require(block.first_key >= 0, "paged attention: blocks[{}].first_key is {}, expected >= 0", index,
          block.first_key);
  if (block.query_count == 0) return;
  Require(block.key_pages != nullptr, "paged attention: blocks[{}].key_pages is null", index);
  Require(block.value_pages != nullptr, "paged attention: blocks[{}].value_pages is null", index);
  const int64_t first_page = FirstVisiblePage(args, block);
  const int64_t pages = PageCount(block);
  for (int64_t page = first_page; page < pages; ++page) {
    Require(block.key_pages[page] != nullptr, "paged attention: blocks[{}].key_pages[{}] is null",
            index, page);
    Require(block.value_pages[page] != nullptr,
            "paged attention: blocks[{}].value_pages[{}] is null", index, page);
  }
}

/// o[value_dim] of one query that sees keys [lo, hi] of kv head `kv_head` of the block's group.
void Attend(const PagedAttentionArgs& args, const AttentionBlock& block, int64_t kv_head,
            int64_t lo, int64_t hi, const float* q, float* o) {
  const auto key_row = [&](const void* const* pages, int64_t key, int64_t dim) {
    return static_cast<const float*>(pages[key / kPageTokens]) +
           (kv_head * kPageTokens + key % kPageTokens) * dim;
  };
  std::vector<double> scores;
  double highest = -std::numeric_limits<double>::infinity();
  for (int64_t key = lo; key <= hi; ++key) {
    const float* k = key_row(block.key_pages, key, args.key_dim);
    double score = 0;
    for (int64_t i = 0; i < args.key_dim; ++i) score += static_cast<double>(q[i]) * k[i];
    scores.push_back(score * args.scale);
    highest = std::max(highest, scores.back());
  }
  double total = 0;
  std::vector<double> output(static_cast<size_t>(args.value_dim), 0.0);
  for (int64_t key = lo; key <= hi; ++key) {
    const double weight = std::exp(scores[static_cast<size_t>(key - lo)] - highest);
    total += weight;
    const float* v = key_row(block.value_pages, key, args.value_dim);
    for (int64_t i = 0; i < args.value_dim; ++i) output[static_cast<size_t>(i)] += weight * v[i];
  }
  for (int64_t i = 0; i < args.value_dim; ++i) {
    o[i] = static_cast<float>(output[static_cast<size_t>(i)] / total);
  }
}

}  // namespace

void Validate(const PagedAttentionArgs& args) {
  const auto require_dtype = [](const char* name, DType dtype) {
    Require(dtype == DType::kFloat32 || dtype == DType::kBFloat16,
            "paged attention: {} is {}, expected float32 or bfloat16", name, core::Name(dtype));
  };
  require_dtype("dtype", args.dtype);
  require_dtype("kv_dtype", args.kv_dtype);
  Require(args.block_count >= 0, "paged attention: block_count is {}, expected >= 0",
          args.block_count);
  Require(args.groups >= 1, "paged attention: groups is {}, expected >= 1", args.groups);
  Require(args.kv_heads_per_group >= 1, "paged attention: kv_heads_per_group is {}, expected >= 1",
          args.kv_heads_per_group);
  const int64_t kv_heads = args.groups * args.kv_heads_per_group;
  Require(args.query_heads >= 1 && args.query_heads % kv_heads == 0,
          "paged attention: query_heads is {}, expected a multiple of groups * kv_heads_per_group "
          "= {}",
          args.query_heads, kv_heads);
  Require(args.key_dim >= 1, "paged attention: key_dim is {}, expected >= 1", args.key_dim);
  Require(args.value_dim >= 1, "paged attention: value_dim is {}, expected >= 1", args.value_dim);
  Require(args.window >= 0, "paged attention: window is {}, expected >= 0", args.window);
  if (args.block_count == 0) return;
  Require(args.blocks != nullptr, "paged attention: blocks is null");
  Require(args.q != nullptr, "paged attention: q is null");
  Require(args.o != nullptr, "paged attention: o is null");
  int64_t rows = 0;
  for (int64_t index = 0; index < args.block_count; ++index) {
    RequireBlock(args, index);
    rows = std::max(rows, args.blocks[index].query_row + args.blocks[index].query_count);
  }
  const auto require_stride = [&](const char* name, int64_t stride, int64_t dim) {
    Require(rows <= 1 || stride >= args.query_heads * dim,
            "paged attention: {} is {}, expected >= query_heads * dim = {}", name, stride,
            args.query_heads * dim);
  };
  require_stride("q_stride", args.q_stride, args.key_dim);
  require_stride("o_stride", args.o_stride, args.value_dim);
}

void RunPagedAttentionReference(const PagedAttentionArgs& args) {
  const auto* q = static_cast<const float*>(args.q);
  auto* o = static_cast<float*>(args.o);
  const int64_t shared = args.query_heads / (args.groups * args.kv_heads_per_group);
  for (int64_t index = 0; index < args.block_count; ++index) {
    const AttentionBlock& block = args.blocks[index];
    for (int64_t i = 0; i < block.query_count; ++i) {
      const int64_t hi = block.first_key + i;
      const int64_t lo = args.window > 0 ? std::max<int64_t>(0, hi - args.window + 1) : 0;
      for (int64_t kv_head = 0; kv_head < args.kv_heads_per_group; ++kv_head) {
        for (int64_t j = 0; j < shared; ++j) {
          const int64_t head = (block.group * args.kv_heads_per_group + kv_head) * shared + j;
          Attend(args, block, kv_head, lo, hi,
                 q + (block.query_row + i) * args.q_stride + head * args.key_dim,
                 o + (block.query_row + i) * args.o_stride + head * args.value_dim);
        }
      }
    }
  }
}

void Validate(const AppendKvArgs& args) {
  Require(args.tokens >= 0, "append kv: tokens is {}, expected >= 0", args.tokens);
  Require(args.groups >= 1, "append kv: groups is {}, expected >= 1", args.groups);
  Require(args.kv_heads_per_group >= 1, "append kv: kv_heads_per_group is {}, expected >= 1",
          args.kv_heads_per_group);
  Require(args.key_dim >= 1, "append kv: key_dim is {}, expected >= 1", args.key_dim);
  Require(args.value_dim >= 1, "append kv: value_dim is {}, expected >= 1", args.value_dim);
  if (args.tokens == 0) return;
  Require(args.k != nullptr, "append kv: k is null");
  Require(args.v != nullptr, "append kv: v is null");
  Require(args.key_pages != nullptr, "append kv: key_pages is null");
  Require(args.value_pages != nullptr, "append kv: value_pages is null");
  Require(args.slots != nullptr, "append kv: slots is null");
  for (int64_t t = 0; t < args.tokens; ++t) {
    Require(args.slots[t] >= 0 && args.slots[t] < kPageTokens,
            "append kv: slots[{}] is {}, expected 0 to {}", t, args.slots[t], kPageTokens - 1);
  }
  for (int64_t i = 0; i < args.tokens * args.groups; ++i) {
    Require(args.key_pages[i] != nullptr, "append kv: key_pages[{}] is null", i);
    Require(args.value_pages[i] != nullptr, "append kv: value_pages[{}] is null", i);
  }
  const int64_t heads = args.groups * args.kv_heads_per_group;
  Require(args.tokens == 1 || args.k_stride >= heads * args.key_dim,
          "append kv: k_stride is {}, expected >= kv heads * key_dim = {}", args.k_stride,
          heads * args.key_dim);
  Require(args.tokens == 1 || args.v_stride >= heads * args.value_dim,
          "append kv: v_stride is {}, expected >= kv heads * value_dim = {}", args.v_stride,
          heads * args.value_dim);
}

}  // namespace natsl::kernels
