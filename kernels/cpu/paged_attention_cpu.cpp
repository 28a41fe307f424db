// Paged attention on the processor: (block, query head) pairs over all cores.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/paged_attention.h"

namespace natsl::kernels {
namespace {

void AttendHead(const PagedAttentionArgs& args, const AttentionBlock& block, int64_t head_in_group,
                std::vector<float>& scores) {
  const int64_t shared = args.query_heads / (args.groups * args.kv_heads_per_group);
  const int64_t kv_head = head_in_group / shared;
  const int64_t head = block.group * args.kv_heads_per_group * shared + head_in_group;
  const auto row_of = [&](const void* const* pages, int64_t key, int64_t dim) {
    return static_cast<const float*>(pages[key / kPageTokens]) +
           (kv_head * kPageTokens + key % kPageTokens) * dim;
  };
  for (int64_t i = 0; i < block.query_count; ++i) {
    const float* q = static_cast<const float*>(args.q) + (block.query_row + i) * args.q_stride +
                     head * args.key_dim;
    float* o =
        static_cast<float*>(args.o) + (block.query_row + i) * args.o_stride + head * args.value_dim;
    const int64_t hi = block.first_key + i;
    const int64_t lo = args.window > 0 ? std::max<int64_t>(0, hi - args.window + 1) : 0;
    scores.clear();
    for (int64_t key = lo; key <= hi; ++key) {
      const float* k = row_of(block.key_pages, key, args.key_dim);
      float score = 0;
      for (int64_t d = 0; d < args.key_dim; ++d) score += q[d] * k[d];
      scores.push_back(score * static_cast<float>(args.scale));
    }
    const float highest = *std::max_element(scores.begin(), scores.end());
    float total = 0;
    std::fill(o, o + args.value_dim, 0.0F);
    for (int64_t key = lo; key <= hi; ++key) {
      const float weight = std::exp(scores[static_cast<size_t>(key - lo)] - highest);
      total += weight;
      const float* v = row_of(block.value_pages, key, args.value_dim);
      for (int64_t d = 0; d < args.value_dim; ++d) o[d] += weight * v[d];
    }
    for (int64_t d = 0; d < args.value_dim; ++d) o[d] /= total;
  }
}

}  // namespace

void RunPagedAttentionCpu(const PagedAttentionArgs& args) {
  const int64_t heads = args.query_heads / args.groups;
#pragma omp parallel
  {
    std::vector<float> scores;
#pragma omp for schedule(dynamic)
    for (int64_t item = 0; item < args.block_count * heads; ++item) {
      AttendHead(args, args.blocks[item / heads], item % heads, scores);
    }
  }
}

void RunAppendKvCpu(const AppendKvArgs& args) {
  const auto* k = static_cast<const float*>(args.k);
  const auto* v = static_cast<const float*>(args.v);
  const int64_t heads = args.groups * args.kv_heads_per_group;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < args.tokens; ++t) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t page = t * args.groups + head / args.kv_heads_per_group;
      const int64_t row = head % args.kv_heads_per_group * kPageTokens + args.slots[t];
      const float* key = k + t * args.k_stride + head * args.key_dim;
      const float* value = v + t * args.v_stride + head * args.value_dim;
      std::copy_n(key, args.key_dim,
                  static_cast<float*>(args.key_pages[page]) + row * args.key_dim);
      std::copy_n(value, args.value_dim,
                  static_cast<float*>(args.value_pages[page]) + row * args.value_dim);
    }
  }
}

}  // namespace natsl::kernels
