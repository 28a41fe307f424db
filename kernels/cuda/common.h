// Conventions of every CUDA kernel (natsl::kernels::cuda).
//
// - Every pointer is to device memory unless it says "host"; sizes are int64_t. Nothing allocates,
//   synchronises or reads device memory on the host: Run*(args, stream) only launches, so it can be
//   captured in a graph. Scratch memory comes from the caller: *WorkspaceBytes(sizes) says how many
//   bytes (256-byte aligned); its contents carry nothing between calls.
// - Sequences are packed as on the CPU: sequence s owns rows [offsets[s], offsets[s+1]) of int64
//   device offsets. offsets == nullptr means one row a sequence: a decode step.
// - Recurrent state lives in slots: state + slot * (floats of a state), float32. Sequence s starts
//   from slot slots.read[s] (-1: zeros, nothing is read) and leaves its state in slots.write[s]
//   (-1: dropped). Different slots make a fork without a copy. A sequence without rows leaves its
//   write slot alone. No two sequences may write a slot that another one reads or writes.
// - Activations are float32 or bfloat16 (`dtype`), row-major, row strides in elements. Parameters
//   (norm weights, biases, decays) and gates are float32. Accumulation is float32.
// - Run* throws natsl::Error (internal) where an argument is out of what the kernel supports or the
//   launch fails. Rows must start at 16-byte boundaries for the fast paths; others are still right.
// - The same input gives the same bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common.h"

namespace natsl::kernels::cuda {

struct StateSlots {
  const int32_t* read = nullptr;   ///< [sequences]; null: slot s is s
  const int32_t* write = nullptr;  ///< [sequences]; null: slot s is s
};

/// The chunks of 64 positions that a packed batch covers; made on the device once a forward pass
/// and read by every layer. A chunk holds consecutive rows of one sequence that lie in one window
/// of 64 absolute positions: the first and the last of a sequence may be shorter.
struct ChunkPlan {
  const int64_t* offsets = nullptr;  ///< [sequences + 1]
  const int64_t* first = nullptr;    ///< [sequences], absolute position of the first row
  int64_t sequences = 0;
  int64_t tokens = 0;
  int64_t max_chunks = 0;             ///< MaxChunks(tokens, sequences): entries of the arrays below
  int32_t* chunk_sequence = nullptr;  ///< [max_chunks]; -1: the entry is unused
  int64_t* chunk_row = nullptr;       ///< [max_chunks], first packed row
  int32_t* chunk_rows = nullptr;      ///< [max_chunks], 0..64
  int32_t* sequence_chunk = nullptr;  ///< [sequences + 1], first entry of each sequence
};

constexpr int64_t MaxChunks(int64_t tokens, int64_t sequences) {
  return tokens / kPageTokens + 2 * sequences;
}

/// Bytes of the plan's arrays.
int64_t ChunkPlanBytes(int64_t tokens, int64_t sequences);

/// Lays the plan out in `memory` (ChunkPlanBytes) and fills it. `first` may be null: all zero.
/// At most 65,536 sequences.
ChunkPlan BuildChunkPlan(const int64_t* offsets, const int64_t* first, int64_t sequences,
                         int64_t tokens, void* memory, cudaStream_t stream);

/// Throws natsl::Error (internal) naming `what` where `status` is a failure.
void Check(cudaError_t status, const char* what);

}  // namespace natsl::kernels::cuda
