// The segments that long sequences are walked in (see chunked.h), as blocks find theirs.
#pragma once

#include "kernels/cuda/chunked.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {

/// The entry of a sequence's first segment in the arrays by segment.
__device__ inline int64_t FirstSegment(const Chunked& a, int64_t s) {
  return a.plan.sequence_chunk[s] / a.chunks_per_segment + s;
}

struct Segment {
  int64_t sequence = -1, index = 0, count = 0;
  int64_t first_chunk = 0;     ///< of the sequence, in the plan
  int64_t begin = 0, end = 0;  ///< chunks of the sequence
  int64_t chunks = 0;          ///< of the sequence
  int64_t row = 0, rows = 0;   ///< of the sequence
  int64_t before = 0;          ///< rows of its first chunk that earlier batches had

  __device__ int64_t RowOf(int64_t chunk) const { return max(int64_t{0}, chunk * kChunk - before); }
  __device__ int RowsOf(int64_t chunk) const {
    return static_cast<int>(min(rows, (chunk + 1) * kChunk - before) - RowOf(chunk));
  }
  __device__ bool Complete(int64_t chunk) const { return (chunk + 1) * kChunk <= before + rows; }
};

/// sequence is -1 where entry `z` is unused.
__device__ inline Segment FindSegment(const Chunked& a, int64_t z) {
  Segment segment;
  // Sequences in one segment each have the entry of their number: no search.
  int64_t low = a.split ? 0 : z, high = a.split ? a.plan.sequences : z;
  if (low >= a.plan.sequences) return segment;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (FirstSegment(a, middle) <= z ? low : high) = middle;
  }
  segment.first_chunk = a.plan.sequence_chunk[low];
  segment.chunks = a.plan.sequence_chunk[low + 1] - segment.first_chunk;
  segment.count = (segment.chunks + a.chunks_per_segment - 1) / a.chunks_per_segment;
  segment.index = a.split ? z - FirstSegment(a, low) : 0;
  if (segment.index < 0 || segment.index >= segment.count) return segment;
  segment.sequence = low;
  segment.begin = segment.index * a.chunks_per_segment;
  segment.end = min(segment.chunks, segment.begin + a.chunks_per_segment);
  segment.row = a.plan.offsets[low];
  segment.rows = a.plan.offsets[low + 1] - segment.row;
  segment.before = a.plan.first == nullptr ? 0 : a.plan.first[low] % kChunk;
  return segment;
}

/// Does softmax attention keep the sequence's chunk, so that the state returns?
__device__ inline bool Returns(const Chunked& a, const Segment& segment, int64_t chunk,
                               int64_t head) {
  if (!a.nats || !segment.Complete(chunk)) return false;
  const int64_t heads = a.nats_state.softmax_heads;
  return a.nats_state.softmax[(segment.first_chunk + chunk) * heads + head / (a.heads / heads)] !=
         0;
}

}  // namespace natsl::kernels::cuda
