// The delta rule's part of the chunked walk (mixer_chunks.h), whatever computes the products.
#pragma once

#include "kernels/cpu/mixer_chunks.h"
#include "kernels/delta_rule.h"

namespace natsl::kernels {

inline ChunkedSequence DeltaSequence(const DeltaRuleArgs& args, int64_t sequence) {
  ChunkedSequence result{};
  result.begin = args.offsets[sequence];
  result.end = args.offsets[sequence + 1];
  result.share = args.value_heads / args.heads;
  result.key_dim = args.key_dim;
  result.value_dim = args.value_dim;
  result.state = args.states[sequence];
  result.has_chunks = args.nats != nullptr;
  if (result.has_chunks) result.first_position = args.nats[sequence].first_position;
  return result;
}

/// What panels first to last and their q/k heads read and write of each row.
inline std::vector<RowStream> DeltaRows(const DeltaRuleArgs& args, const Panel& first,
                                        const Panel& last, int64_t first_head, int64_t last_head) {
  const int64_t at = first.head * args.value_dim + first.column;
  const int64_t width = last.head * args.value_dim + last.column + last.columns - at;
  const int64_t key = first_head * args.key_dim, keys = (last_head + 1) * args.key_dim - key;
  return {{static_cast<const float*>(args.q) + key, args.q_stride, keys},
          {static_cast<const float*>(args.k) + key, args.k_stride, keys},
          {static_cast<const float*>(args.v) + at, args.v_stride, width},
          {static_cast<const float*>(args.o) + at, args.value_heads * args.value_dim, width}};
}

}  // namespace natsl::kernels
