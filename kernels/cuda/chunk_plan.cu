// The plan of chunks of a packed batch.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/elementwise.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 1024;

__device__ int64_t ChunksOf(const ChunkPlan& plan, int64_t s) {
  const int64_t rows = plan.offsets[s + 1] - plan.offsets[s];
  if (rows == 0) return 0;
  const int64_t own = plan.first == nullptr ? 0 : plan.first[s] % kPageTokens;
  return (own + rows + kPageTokens - 1) / kPageTokens;
}

// One block: prefix sums of the sequences' chunk counts.
__global__ void CountChunks(ChunkPlan plan) {
  __shared__ int32_t sums[kThreads];
  const int64_t each = (plan.sequences + kThreads - 1) / kThreads;
  const int64_t begin = min(plan.sequences, each * threadIdx.x);
  const int64_t end = min(plan.sequences, begin + each);
  int32_t own = 0;
  for (int64_t s = begin; s < end; ++s) own += static_cast<int32_t>(ChunksOf(plan, s));
  sums[threadIdx.x] = own;
  __syncthreads();
  for (int d = 1; d < kThreads; d <<= 1) {
    const int32_t before = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
    __syncthreads();
  }
  int32_t at = sums[threadIdx.x] - own;
  for (int64_t s = begin; s < end; ++s) {
    plan.sequence_chunk[s] = at;
    at += static_cast<int32_t>(ChunksOf(plan, s));
  }
  if (threadIdx.x == kThreads - 1) plan.sequence_chunk[plan.sequences] = sums[kThreads - 1];
}

__global__ void FillChunks(ChunkPlan plan) {
  const int64_t c = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (c >= plan.max_chunks) return;
  if (c >= plan.sequence_chunk[plan.sequences]) {
    plan.chunk_sequence[c] = -1;
    plan.chunk_row[c] = 0;
    plan.chunk_rows[c] = 0;
    return;
  }
  int64_t low = 0, high = plan.sequences;  // the last sequence that begins at or before c
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (plan.sequence_chunk[middle] <= c ? low : high) = middle;
  }
  const int64_t own = plan.first == nullptr ? 0 : plan.first[low] % kPageTokens;
  const int64_t index = c - plan.sequence_chunk[low];
  const int64_t begin = max(int64_t{0}, index * kPageTokens - own);
  const int64_t rows = plan.offsets[low + 1] - plan.offsets[low];
  plan.chunk_sequence[c] = static_cast<int32_t>(low);
  plan.chunk_row[c] = plan.offsets[low] + begin;
  plan.chunk_rows[c] = static_cast<int32_t>(min(rows, (index + 1) * kPageTokens - own) - begin);
}

ChunkPlan LayOut(Carver& carver, int64_t sequences, int64_t tokens) {
  ChunkPlan plan;
  plan.sequences = sequences;
  plan.tokens = tokens;
  plan.max_chunks = MaxChunks(tokens, sequences);
  plan.chunk_sequence = carver.Take<int32_t>(plan.max_chunks);
  plan.chunk_row = carver.Take<int64_t>(plan.max_chunks);
  plan.chunk_rows = carver.Take<int32_t>(plan.max_chunks);
  plan.sequence_chunk = carver.Take<int32_t>(sequences + 1);
  return plan;
}

__global__ void Positions(ChunkPlan plan, int64_t* positions) {
  const int64_t c = blockIdx.x;
  const int64_t s = plan.chunk_sequence[c];
  if (s < 0 || threadIdx.x >= plan.chunk_rows[c]) return;
  const int64_t row = plan.chunk_row[c] + threadIdx.x;
  positions[row] = (plan.first == nullptr ? 0 : plan.first[s]) + row - plan.offsets[s];
}

}  // namespace

int64_t ChunkPlanBytes(int64_t tokens, int64_t sequences) {
  Carver carver(nullptr);
  LayOut(carver, sequences, tokens);
  return carver.used();
}

ChunkPlan BuildChunkPlan(const int64_t* offsets, const int64_t* first, int64_t sequences,
                         int64_t tokens, void* memory, cudaStream_t stream) {
  Require(sequences <= 65536, "chunk plan: more than 65,536 sequences");
  Carver carver(memory);
  ChunkPlan plan = LayOut(carver, sequences, tokens);
  plan.offsets = offsets;
  plan.first = first;
  if (sequences == 0) return plan;
  CountChunks<<<1, kThreads, 0, stream>>>(plan);
  const auto blocks = static_cast<unsigned>(CeilDiv(plan.max_chunks, 256));
  FillChunks<<<blocks, 256, 0, stream>>>(plan);
  CheckLaunch("chunk plan");
  return plan;
}

void RunPositions(const ChunkPlan& plan, int64_t* positions, cudaStream_t stream) {
  if (plan.max_chunks == 0) return;
  Positions<<<static_cast<unsigned>(plan.max_chunks), kPageTokens, 0, stream>>>(plan, positions);
  CheckLaunch("positions");
}

}  // namespace natsl::kernels::cuda
