// Decode attention: one query a sequence. A block takes a part of a list for one query head; its
// warps take pages in turn, each with its own running softmax; parts are joined by a second launch.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kBlocks = 6;  // of a multiprocessor at once: all parts run in one wave
constexpr int kMostSplits = 1024;
constexpr int kLargestDim = 256;

// Values of the running softmax that a part leaves: maximum, sum, then value_dim sums.
__device__ int64_t PartFloats(int64_t value_dim) { return value_dim + 2; }

struct Range {
  int64_t low, high;  // keys along the list
};

__device__ Range KeysSeen(const DecodeAttentionArgs& a, int64_t s, int64_t group) {
  int64_t keys = a.table.keys[a.slots[s] * a.table.groups + group];
  if (a.skip_own_chunk != nullptr) keys -= a.skip_own_chunk[s] % kPageTokens + 1;
  const int64_t low = a.window > 0 ? max(int64_t{0}, keys - a.window) : 0;
  return {low, keys};
}

// KD, VD: dims in elements, or 0 for any. N elements a load.
template <typename T, int KD, int VD, int N>
__global__ void __launch_bounds__(kThreads, kBlocks)
    PartKernel(DecodeAttentionArgs a, int64_t splits) {
  extern __shared__ float shared[];
  const int64_t split = blockIdx.x, query_head = blockIdx.y, s = blockIdx.z;
  const int64_t key_dim = KD > 0 ? KD : a.pool.key_dim, value_dim = VD > 0 ? VD : a.pool.value_dim;
  const int64_t kv_heads = a.table.groups * a.pool.heads;
  const int64_t kv_head = query_head / (a.query_heads / kv_heads);
  const int64_t group = kv_head / a.pool.heads, head = kv_head % a.pool.heads;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Range seen = KeysSeen(a, s, group);
  const int64_t first_page = seen.low / kPageTokens;
  const int64_t pages = (seen.high + kPageTokens - 1) / kPageTokens - first_page;
  const int64_t each = (pages + splits - 1) / splits;
  const int64_t begin = first_page + min(pages, split * each);
  const int64_t end = first_page + min(pages, (split + 1) * each);
  const int32_t* list = a.table.pages + (a.slots[s] * a.table.groups + group) * a.table.max_pages;

  float* scores = shared + warp * kPageTokens;                           // [kWarps][64]
  float* sums = shared + kWarps * kPageTokens + warp * (value_dim + 2);  // [kWarps][2 + VD]
  const T* q = static_cast<const T*>(a.q) + s * a.q_stride + query_head * key_dim;
  const float scale = static_cast<float>(a.scale);

  // Scores: kKeyLanes lanes share a key. Values: kValueLanes lanes share a row.
  constexpr int kKeyLanes = KD > 0 ? KD / N : 32;
  constexpr int kValueLanes = VD > 0 ? VD / N : 32;
  constexpr int kKeyItems = KD > 0 ? 1 : kLargestDim / (32 * N);
  constexpr int kValueItems = VD > 0 ? 1 : kLargestDim / (32 * N);
  float query[kKeyItems][N], sum[kValueItems][N];
#pragma unroll
  for (int j = 0; j < kKeyItems; ++j) {
    const int64_t i = (j * kKeyLanes + lane % kKeyLanes) * N;
#pragma unroll
    for (int e = 0; e < N; ++e) query[j][e] = 0;
    if (i < key_dim) Load<T, N>(q + i, query[j]);
#pragma unroll
    for (int e = 0; e < N; ++e) query[j][e] *= scale;
  }
#pragma unroll
  for (int j = 0; j < kValueItems; ++j) {
#pragma unroll
    for (int e = 0; e < N; ++e) sum[j][e] = 0;
  }
  float high = -INFINITY, total = 0;
  for (int64_t p = begin + warp; p < end; p += kWarps) {
    const int64_t page = list[p];
    const T* keys =
        static_cast<const T*>(a.pool.keys) + (page * a.pool.heads + head) * kPageTokens * key_dim;
    const T* values = static_cast<const T*>(a.pool.values) +
                      (page * a.pool.heads + head) * kPageTokens * value_dim;
    const int64_t low = seen.low - p * kPageTokens, top = seen.high - p * kPageTokens;
    constexpr int kKeysAtOnce = 32 / kKeyLanes;
#pragma unroll 16
    for (int r = 0; r < kPageTokens; r += kKeysAtOnce) {
      const int row = r + lane / kKeyLanes;
      float score = 0;
      // Rows past the end hold whatever the page held before: read, not used.
#pragma unroll
      for (int j = 0; j < kKeyItems; ++j) {
        const int64_t i = (j * kKeyLanes + lane % kKeyLanes) * N;
        if (KD == 0 && i >= key_dim) continue;
        float key[N];
        Load<T, N>(keys + row * key_dim + i, key);
#pragma unroll
        for (int e = 0; e < N; ++e) score += query[j][e] * key[e];
      }
      score = LaneSum(score, kKeyLanes);
      if (lane % kKeyLanes == 0) scores[row] = row >= low && row < top ? score : -INFINITY;
    }
    __syncwarp();
    float s0 = scores[lane], s1 = scores[lane + 32];
    const float page_high = LaneMax(fmaxf(s0, s1));
    const float new_high = fmaxf(high, page_high);
    const float factor = high == -INFINITY ? 0.0f : __expf(high - new_high);
    s0 = s0 == -INFINITY ? 0.0f : __expf(s0 - new_high);
    s1 = s1 == -INFINITY ? 0.0f : __expf(s1 - new_high);
    total = total * factor + s0 + s1;
    high = new_high;
    __syncwarp();
    scores[lane] = s0;
    scores[lane + 32] = s1;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kValueItems; ++j) {
#pragma unroll
      for (int e = 0; e < N; ++e) sum[j][e] *= factor;
    }
    constexpr int kRowsAtOnce = 32 / kValueLanes;
#pragma unroll 16
    for (int r = 0; r < kPageTokens; r += kRowsAtOnce) {
      const int row = r + lane / kValueLanes;
      const float weight = scores[row];
      const bool used = row >= low && row < top;
#pragma unroll
      for (int j = 0; j < kValueItems; ++j) {
        const int64_t i = (j * kValueLanes + lane % kValueLanes) * N;
        if (VD == 0 && i >= value_dim) continue;
        float value[N];
        Load<T, N>(values + row * value_dim + i, value);
#pragma unroll
        for (int e = 0; e < N; ++e) sum[j][e] += used ? weight * value[e] : 0.0f;
      }
    }
  }
  total = LaneSum(total);
#pragma unroll
  for (int j = 0; j < kValueItems; ++j) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      for (int d = kValueLanes; d < 32; d <<= 1) {
        sum[j][e] += __shfl_xor_sync(0xffffffffu, sum[j][e], d);
      }
    }
    const int64_t i = (j * kValueLanes + lane % kValueLanes) * N;
    if (lane < kValueLanes && i < value_dim) {
#pragma unroll
      for (int e = 0; e < N; ++e) sums[2 + i + e] = sum[j][e];
    }
  }
  if (lane == 0) {
    sums[0] = high;
    sums[1] = total;
  }
  __syncthreads();
  // Join the warps.
  const float* parts = shared + kWarps * kPageTokens;
  float block_high = -INFINITY, block_total = 0, factors[kWarps];
#pragma unroll
  for (int w = 0; w < kWarps; ++w) block_high = fmaxf(block_high, parts[w * (value_dim + 2)]);
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const float warp_high = parts[w * (value_dim + 2)];
    factors[w] = warp_high == -INFINITY ? 0.0f : __expf(warp_high - block_high);
    block_total += factors[w] * parts[w * (value_dim + 2) + 1];
  }
  float* out = static_cast<float*>(a.workspace) +
               ((s * a.query_heads + query_head) * splits + split) * PartFloats(value_dim);
  T* o = static_cast<T*>(a.o) + s * a.o_stride + query_head * value_dim;
  for (int64_t i = threadIdx.x; i < value_dim; i += kThreads) {
    float value = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) value += factors[w] * parts[w * (value_dim + 2) + 2 + i];
    if (splits == 1) {
      o[i] = FromFloat<T>(block_total > 0 ? value / block_total : 0.0f);
    } else {
      out[2 + i] = value;
    }
  }
  if (splits > 1 && threadIdx.x == 0) {
    out[0] = block_high;
    out[1] = block_total;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) JoinKernel(DecodeAttentionArgs a, int64_t splits) {
  __shared__ float factors[kMostSplits], shared[32];
  const int64_t query_head = blockIdx.x, s = blockIdx.y, value_dim = a.pool.value_dim;
  const float* parts = static_cast<const float*>(a.workspace) +
                       (s * a.query_heads + query_head) * splits * PartFloats(value_dim);
  float high = -INFINITY;
  for (int64_t p = threadIdx.x; p < splits; p += kThreads) {
    high = fmaxf(high, parts[p * PartFloats(value_dim)]);
  }
  high = LaneMax(high);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = high;
  __syncthreads();
  high = shared[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) high = fmaxf(high, shared[w]);
  float total = 0;
  for (int64_t p = threadIdx.x; p < splits; p += kThreads) {
    const float* part = parts + p * PartFloats(value_dim);
    const float factor = part[0] == -INFINITY ? 0.0f : __expf(part[0] - high);
    factors[p] = factor;
    total += factor * part[1];
  }
  total = BlockSum(total, shared);
  T* o = static_cast<T*>(a.o) + s * a.o_stride + query_head * value_dim;
  for (int64_t i = threadIdx.x; i < value_dim; i += kThreads) {
    float value = 0;
#pragma unroll 16
    for (int64_t p = 0; p < splits; ++p) {
      value += factors[p] * parts[p * PartFloats(value_dim) + 2 + i];
    }
    o[i] = FromFloat<T>(total > 0 ? value / total : 0.0f);
  }
}

int64_t SplitsOf(const DecodeAttentionArgs& a) {
  if (a.splits > 0) return a.splits < kMostSplits ? a.splits : kMostSplits;
  // One wave of blocks, but no more parts than a list can have pages.
  const int64_t wanted = kBlocks * DeviceProcessors() / (a.sequences * a.query_heads);
  const int64_t pages = CeilDiv(a.table.max_pages, kWarps);
  const int64_t most = pages < kMostSplits ? pages : kMostSplits;
  return wanted < 1 || most < 1 ? 1 : (wanted < most ? wanted : most);
}

template <typename T, int N>
void Launch(const DecodeAttentionArgs& a, bool vectors, cudaStream_t stream) {
  const int64_t splits = SplitsOf(a), kd = a.pool.key_dim, vd = a.pool.value_dim;
  const dim3 grid(static_cast<unsigned>(splits), static_cast<unsigned>(a.query_heads),
                  static_cast<unsigned>(a.sequences));
  const auto shared = static_cast<size_t>(kWarps * (kPageTokens + vd + 2)) * sizeof(float);
  if (vectors && kd == 64 && vd == 64) {
    PartKernel<T, 64, 64, N><<<grid, kThreads, shared, stream>>>(a, splits);
  } else if (vectors && kd == 64 && vd == 128) {
    PartKernel<T, 64, 128, N><<<grid, kThreads, shared, stream>>>(a, splits);
  } else if (vectors && kd == 128 && vd == 128) {
    PartKernel<T, 128, 128, N><<<grid, kThreads, shared, stream>>>(a, splits);
  } else {
    PartKernel<T, 0, 0, 1><<<grid, kThreads, shared, stream>>>(a, splits);
  }
  if (splits > 1) {
    const dim3 joins(static_cast<unsigned>(a.query_heads), static_cast<unsigned>(a.sequences));
    JoinKernel<T><<<joins, kThreads, 0, stream>>>(a, splits);
  }
  CheckLaunch("decode attention");
}

}  // namespace

int64_t DecodeAttentionWorkspaceBytes(const DecodeAttentionArgs& a) {
  const int64_t splits = SplitsOf(a);
  return splits == 1
             ? 0
             : AlignUp(a.sequences * a.query_heads * splits * (a.pool.value_dim + 2) * 4, 256);
}

void RunDecodeAttention(const DecodeAttentionArgs& a, cudaStream_t stream) {
  if (a.sequences == 0) return;
  Require(a.pool.key_dim <= kLargestDim && a.pool.value_dim <= kLargestDim,
          "decode attention: a head is wider than 256");
  const int64_t bytes = core::ByteSize(a.pool.dtype);
  const bool vectors =
      Aligned(a.q, a.q_stride, bytes) && Aligned(a.pool.keys, 0, 1) && Aligned(a.pool.values, 0, 1);
  if (a.pool.dtype == DType::kBFloat16) {
    Launch<bf16, 8>(a, vectors, stream);
  } else {
    Require(a.pool.dtype == DType::kFloat32, "decode attention: dtype of the pool");
    Launch<float, 4>(a, vectors, stream);
  }
}

}  // namespace natsl::kernels::cuda
