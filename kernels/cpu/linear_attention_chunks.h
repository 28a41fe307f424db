// Linear attention's part of the chunked walk (mixer_chunks.h), whatever computes the products.
#pragma once

#include <numeric>

#include "kernels/cpu/mixer_chunks.h"
#include "kernels/linear_attention.h"

namespace natsl::kernels {

/// Heads of a group, which share q, k (and a vector decay).
inline int64_t GroupHeads(const LinearAttentionArgs& args) {
  return std::gcd(args.heads / args.q_heads, args.heads / args.kv_heads);
}

/// The q/k heads of a group, and its rows in a segment.
struct LinearKeys {
  int64_t q_head, kv_head;

  LinearKeys(const LinearAttentionArgs& args, int64_t group)
      : q_head(group * GroupHeads(args) / (args.heads / args.q_heads)),
        kv_head(group * GroupHeads(args) / (args.heads / args.kv_heads)) {}

  const float* Q(const LinearAttentionArgs& args, int64_t row) const {
    return static_cast<const float*>(args.q) + row * args.q_stride + q_head * args.key_dim;
  }
  const float* K(const LinearAttentionArgs& args, int64_t row) const {
    return static_cast<const float*>(args.k) + row * args.k_stride + kv_head * args.key_dim;
  }
  /// Of a vector decay.
  const float* G(const LinearAttentionArgs& args, int64_t row) const {
    return args.g + (row * args.kv_heads + kv_head) * args.key_dim;
  }
};

inline ChunkedSequence LinearSequence(const LinearAttentionArgs& args, int64_t sequence) {
  ChunkedSequence result{};
  result.begin = args.offsets[sequence];
  result.end = args.offsets[sequence + 1];
  result.share = GroupHeads(args);
  result.key_dim = args.key_dim;
  result.value_dim = args.value_dim;
  result.state = args.states[sequence];
  return result;
}

inline const float* LinearValues(const LinearAttentionArgs& args, const Panel& panel) {
  return static_cast<const float*>(args.v) +
         panel.head / (args.heads / args.v_heads) * args.value_dim + panel.column;
}

inline float* LinearOutputs(const LinearAttentionArgs& args, const Panel& panel) {
  return static_cast<float*>(args.o) + panel.head * args.value_dim + panel.column;
}

/// What panels first to last and their groups read and write of each row.
inline std::vector<RowStream> LinearRows(const LinearAttentionArgs& args, const Panel& first,
                                         const Panel& last, int64_t first_group,
                                         int64_t last_group) {
  const LinearKeys begin(args, first_group), end(args, last_group);
  const int64_t q_width = (end.q_head + 1 - begin.q_head) * args.key_dim;
  const int64_t k_width = (end.kv_head + 1 - begin.kv_head) * args.key_dim;
  std::vector<RowStream> rows = {
      {begin.Q(args, 0), args.q_stride, q_width},
      {begin.K(args, 0), args.k_stride, k_width},
      {LinearValues(args, first), args.v_stride,
       LinearValues(args, last) + last.columns - LinearValues(args, first)},
      {LinearOutputs(args, first), args.heads * args.value_dim,
       LinearOutputs(args, last) + last.columns - LinearOutputs(args, first)}};
  if (args.decay == DecayKind::kVectorPerToken) {
    rows.push_back({begin.G(args, 0), args.kv_heads * args.key_dim, k_width});
  }
  return rows;
}

}  // namespace natsl::kernels
