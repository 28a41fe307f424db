// The chunked forms: choice of segments, workspace, launches, the state before each segment.
#include "kernels/cuda/chunk_walk.cuh"
#include "kernels/cuda/chunked.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 16;  // of a block

// start of segment 0 = the state; start[i + 1] = transfer[i] start[i] + local[i]. A block owns 16
// value columns of a head.
template <bool kDelta>
__global__ void __launch_bounds__(kThreads) JoinKernel(Chunked a) {
  extern __shared__ float shared[];
  const int64_t s = blockIdx.z, head = blockIdx.y;
  const int64_t chunks = a.plan.sequence_chunk[s + 1] - a.plan.sequence_chunk[s];
  const int64_t count = (chunks + a.chunks_per_segment - 1) / a.chunks_per_segment;
  if (count < 2) return;
  const int K = static_cast<int>(a.key_dim);
  const int64_t size = a.key_dim * a.value_dim, first = FirstSegment(a, s);
  const int column = threadIdx.x % kColumns, group = threadIdx.x / kColumns;
  constexpr int kGroups = kThreads / kColumns;
  const int64_t value = blockIdx.x * int64_t{kColumns} + column;
  float* before = shared;                 // [K, 16]
  float* matrix = shared + K * kColumns;  // [K, K + 4], delta rule
  const int pitch = K + 4;
  const int64_t slot = ReadSlot(a.slots, s);
  const float* state = a.state + (slot * a.heads + head) * size;
  const bool begun = a.nats && a.plan.first != nullptr && a.plan.first[s] % kChunk != 0;
  for (int row = group; row < K; row += kGroups) {
    const int64_t at = row * a.value_dim + value;
    a.start[(first * a.heads + head) * size + at] = slot < 0 ? 0.0f : state[at];
    before[row * kColumns + column] = a.local[(first * a.heads + head) * size + at];
    if (begun) {
      a.chunk_start[(s * a.heads + head) * size + at] =
          a.nats_state.chunk_start[(slot * a.heads + head) * size + at];
    }
  }
  for (int64_t i = 1; i < count; ++i) {
    const int64_t entry = (first + i) * a.heads + head;
    __syncthreads();
    for (int row = group; row < K; row += kGroups) {
      a.start[entry * size + row * a.value_dim + value] = before[row * kColumns + column];
    }
    if (i == count - 1) break;
    if (!kDelta) {
      const float all = a.vector_decay ? 0.0f : __expf(a.segment_log[entry]);
      for (int row = group; row < K; row += kGroups) {
        const float factor = a.vector_decay ? a.segment_decay[entry * K + row] : all;
        float& cell = before[row * kColumns + column];
        cell = factor * cell + a.local[entry * size + row * a.value_dim + value];
      }
      continue;
    }
    const bool wiped = a.segment_log[entry] <= kWiped;
    if (!wiped) {
      for (int j = threadIdx.x; j < K * K / 4; j += kThreads) {
        const int row = j / (K / 4), piece = j % (K / 4) * 4;
        *reinterpret_cast<float4*>(matrix + row * pitch + piece) =
            *reinterpret_cast<const float4*>(a.transfer + (entry * K + row) * K + piece);
      }
    }
    __syncthreads();
    constexpr int kRows = 256 / kGroups;  // largest K
    float sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = r * kGroups + group;
      sum[r] = row < K ? a.local[entry * size + row * a.value_dim + value] : 0.0f;
    }
    if (!wiped) {
      for (int j = 0; j < K; j += 4) {
        float b[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) b[e] = before[(j + e) * kColumns + column];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const int row = r * kGroups + group;
          if (row >= K) continue;
          const float4 t = *reinterpret_cast<const float4*>(matrix + row * pitch + j);
          sum[r] += t.x * b[0] + t.y * b[1] + t.z * b[2] + t.w * b[3];
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = r * kGroups + group;
      if (row < K) before[row * kColumns + column] = sum[r];
    }
  }
}

}  // namespace

bool Supported(const Chunked& a) {
  const bool keys = a.key_dim == 128 || a.key_dim == (a.delta ? 192 : 256);
  const int64_t columns = a.value_dim < kWalkColumns ? a.value_dim : kWalkColumns;
  return keys && (a.value_dim == 64 || (a.value_dim > 0 && a.value_dim % columns == 0)) &&
         a.value_dim % 64 == 0 && (a.key_dim <= 2 * columns) && Aligned(a.q, a.q_stride, 2) &&
         Aligned(a.k, a.k_stride, 2) && Aligned(a.v, a.v_stride, 2) && Aligned(a.o, a.o_stride, 2);
}

int64_t LayOutChunked(Chunked& a, void* base) {
  const int64_t columns = a.value_dim < kWalkColumns ? a.value_dim : kWalkColumns;
  const int64_t units = a.heads * CeilDiv(a.value_dim, columns);
  const int64_t chunks = a.plan.max_chunks, sequences = a.plan.sequences;
  const int64_t wanted = sequences == 0 ? 1 : DeviceProcessors() / (units * sequences);
  a.chunks_per_segment = wanted < 2 ? chunks : CeilDiv(chunks, wanted * sequences);
  if (a.chunks_per_segment < 8) a.chunks_per_segment = 8;
  a.split = a.chunks_per_segment < chunks;
  a.segments = chunks / a.chunks_per_segment + sequences + 1;

  Carver carver(base);
  const int64_t tiles = chunks * a.heads, key_tile = kChunk * a.key_dim;
  a.p = carver.Take<uint16_t>(tiles * kChunk * kChunk);
  if (a.vector_decay) {
    a.q_tiles = carver.Take<uint16_t>(tiles * key_tile);
    a.k_tiles = carver.Take<uint16_t>(tiles * key_tile);
    a.decays = carver.Take<float>(tiles * a.key_dim);
  } else {
    a.factors = carver.Take<float>(tiles * kFactors);
  }
  if (a.delta) {
    a.w = carver.Take<uint16_t>(tiles * key_tile);
    a.u = carver.Take<uint16_t>(tiles * kChunk * a.value_dim);
  }
  if (a.split) {
    const int64_t entries = a.segments * a.heads, size = a.key_dim * a.value_dim;
    a.local = carver.Take<float>(entries * size);
    a.start = carver.Take<float>(entries * size);
    if (a.delta) a.transfer = carver.Take<float>(entries * a.key_dim * a.key_dim);
    if (a.vector_decay) {
      a.segment_decay = carver.Take<float>(entries * a.key_dim);
    } else {
      a.segment_log = carver.Take<float>(entries);
    }
    if (a.nats) a.chunk_start = carver.Take<float>(sequences * a.heads * size);
  }
  return carver.used();
}

void RunJoinSegments(const Chunked& a, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(a.value_dim / kColumns), static_cast<unsigned>(a.heads),
                  static_cast<unsigned>(a.plan.sequences));
  const int64_t bytes = (a.key_dim * kColumns + (a.delta ? a.key_dim * (a.key_dim + 4) : 0)) * 4;
  const auto kernel = a.delta ? JoinKernel<true> : JoinKernel<false>;
  AllowShared(reinterpret_cast<const void*>(kernel), bytes);
  kernel<<<grid, kThreads, static_cast<size_t>(bytes), stream>>>(a);
  CheckLaunch("join segments");
}

void RunChunked(const Chunked& a, cudaStream_t stream) {
  if (a.plan.max_chunks == 0 || a.plan.tokens == 0) return;
  Require(a.segments <= 65535, "chunked mixer: more than 65,535 segments");
  const auto walk = a.delta ? RunWalkDelta : a.vector_decay ? RunWalkVector : RunWalkScalar;
  a.vector_decay ? RunPrepareVector(a, stream) : RunPrepareScalar(a, stream);
  if (a.split) {
    walk(a, false, stream);
    RunJoinSegments(a, stream);
  }
  walk(a, true, stream);
}

}  // namespace natsl::kernels::cuda
