// Decode attention: one query a sequence. The blocks of a query head take a list's pages among
// them, each warp with its own running softmax; their parts are joined by a second launch.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
constexpr int kBlocks = 3;  // of a multiprocessor at once: all parts run in one wave
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

// What a warp has of a list: the maximum, the sum of exponentials, and in `sums` [2 + value_dim] of
// shared memory the weighted values from element 2 on. Joins the block's warps and leaves the part.
template <typename T>
__device__ void LeavePart(const DecodeAttentionArgs& a, const float* parts, int64_t splits,
                          int64_t s, int64_t query_head, int64_t split) {
  const int64_t value_dim = a.pool.value_dim;
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
      o[i] = FromFloat<T>(block_total == 0 ? 0.0f : value / block_total);
    } else {
      out[2 + i] = value;
    }
  }
  if (splits > 1 && threadIdx.x == 0) {
    out[0] = block_high;
    out[1] = block_total;
  }
}

// The pages and the query of a block.
template <typename T>
struct Place {
  const int32_t* list;
  const T *keys, *values, *query;  // of the head; pages are page_keys and page_values apart
  int64_t page_keys, page_values;
  Range seen;

  __device__ Place(const DecodeAttentionArgs& a, int64_t s, int64_t query_head) {
    const int64_t kv_heads = a.table.groups * a.pool.heads;
    const int64_t kv_head = query_head / (a.query_heads / kv_heads);
    const int64_t group = kv_head / a.pool.heads, head = kv_head % a.pool.heads;
    list = a.table.pages + (a.slots[s] * a.table.groups + group) * a.table.max_pages;
    keys = static_cast<const T*>(a.pool.keys) + head * kPageTokens * a.pool.key_dim;
    values = static_cast<const T*>(a.pool.values) + head * kPageTokens * a.pool.value_dim;
    page_keys = a.pool.heads * kPageTokens * a.pool.key_dim;
    page_values = a.pool.heads * kPageTokens * a.pool.value_dim;
    query = static_cast<const T*>(a.q) + s * a.q_stride + query_head * a.pool.key_dim;
    seen = KeysSeen(a, s, group);
  }
};

// Common head sizes. All warps of a head's blocks take units of 32 keys (16 of float32) in turn; a
// warp asks for a unit's keys and values before it uses any of them.
template <typename T, int KD, int VD, int N>
__global__ void __launch_bounds__(kThreads, kBlocks)
    UnitKernel(DecodeAttentionArgs a, int64_t splits) {
  constexpr int kUnit = sizeof(T) == 2 ? 32 : 16, kUnits = static_cast<int>(kPageTokens) / kUnit;
  constexpr int kKeyLanes = KD / N, kKeysAtOnce = 32 / kKeyLanes;        // lanes share a key
  constexpr int kValueLanes = VD / N, kValuesAtOnce = 32 / kValueLanes;  // lanes share a row
  __shared__ float shared_scores[kWarps][kUnit], parts[kWarps][VD + 2];
  const int64_t split = blockIdx.x, query_head = blockIdx.y, s = blockIdx.z;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  AwaitPrevious();
  const Place<T> place(a, s, query_head);
  float* scores = shared_scores[warp];
  float query[N], sum[N];
  Load<T, N>(place.query + lane % kKeyLanes * N, query);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    query[e] *= static_cast<float>(a.scale);
    sum[e] = 0;
  }
  float high = -INFINITY, total = 0;
  const int64_t first = place.seen.low / kUnit, end = (place.seen.high + kUnit - 1) / kUnit;
  const int64_t step = splits * kWarps;
  int64_t unit = first + split * kWarps + warp;
  int64_t page = unit < end ? place.list[unit / kUnits] : 0;
  for (; unit < end; unit += step) {
    const int64_t row0 = unit % kUnits * kUnit;
    const T* keys = place.keys + page * place.page_keys + row0 * KD;
    const T* values = place.values + page * place.page_values + row0 * VD;
    Vec<T, N> key[kUnit / kKeysAtOnce], value[kUnit / kValuesAtOnce];
#pragma unroll
    for (int i = 0; i < kUnit / kKeysAtOnce; ++i) {
      key[i] = *reinterpret_cast<const Vec<T, N>*>(
          keys + (i * kKeysAtOnce + lane / kKeyLanes) * KD + lane % kKeyLanes * N);
    }
#pragma unroll
    for (int i = 0; i < kUnit / kValuesAtOnce; ++i) {
      value[i] = *reinterpret_cast<const Vec<T, N>*>(
          values + (i * kValuesAtOnce + lane / kValueLanes) * VD + lane % kValueLanes * N);
    }
    if (unit + step < end) page = place.list[(unit + step) / kUnits];
    // Rows past the end hold whatever the page held before: read, not used.
    const int64_t low = place.seen.low - unit * kUnit, top = place.seen.high - unit * kUnit;
#pragma unroll
    for (int i = 0; i < kUnit / kKeysAtOnce; ++i) {
      float score = 0;
#pragma unroll
      for (int e = 0; e < N; ++e) score += query[e] * ToFloat(key[i].v[e]);
      score = LaneSum(score, kKeyLanes);
      const int row = i * kKeysAtOnce + lane / kKeyLanes;
      if (lane % kKeyLanes == 0) scores[row] = row >= low && row < top ? score : -INFINITY;
    }
    __syncwarp();
    float mine = lane < kUnit ? scores[lane] : -INFINITY;
    const float new_high = fmaxf(high, LaneMax(mine));
    const float factor = high == -INFINITY ? 0.0f : __expf(high - new_high);
    mine = mine == -INFINITY ? 0.0f : __expf(mine - new_high);
    total = total * factor + mine;
    high = new_high;
    __syncwarp();
    if (lane < kUnit) scores[lane] = mine;
    __syncwarp();
#pragma unroll
    for (int e = 0; e < N; ++e) sum[e] *= factor;
#pragma unroll
    for (int i = 0; i < kUnit / kValuesAtOnce; ++i) {
      const int row = i * kValuesAtOnce + lane / kValueLanes;
      const float weight = scores[row];
      const bool used = row >= low && row < top;
#pragma unroll
      for (int e = 0; e < N; ++e) sum[e] += used ? weight * ToFloat(value[i].v[e]) : 0.0f;
    }
    __syncwarp();
  }
  total = LaneSum(total);
#pragma unroll
  for (int e = 0; e < N; ++e) {
    for (int d = kValueLanes; d < 32; d <<= 1) {
      sum[e] += __shfl_xor_sync(0xffffffffu, sum[e], d);
    }
    if (lane < kValueLanes) parts[warp][2 + lane * N + e] = sum[e];
  }
  if (lane == 0) {
    parts[warp][0] = high;
    parts[warp][1] = total;
  }
  __syncthreads();
  LeavePart<T>(a, parts[0], splits, s, query_head, split);
}

// Any head size: a block takes neighbouring pages, its warps take them in turn, a lane has every
// 32nd channel.
template <typename T>
__global__ void __launch_bounds__(kThreads) PageKernel(DecodeAttentionArgs a, int64_t splits) {
  constexpr int kItems = kLargestDim / 32;
  extern __shared__ float shared[];
  const int64_t split = blockIdx.x, query_head = blockIdx.y, s = blockIdx.z;
  const int64_t key_dim = a.pool.key_dim, value_dim = a.pool.value_dim;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  AwaitPrevious();
  const Place<T> place(a, s, query_head);
  const int64_t first_page = place.seen.low / kPageTokens;
  const int64_t pages = (place.seen.high + kPageTokens - 1) / kPageTokens - first_page;
  const int64_t each = (pages + splits - 1) / splits;
  const int64_t begin = first_page + min(pages, split * each);
  const int64_t end = first_page + min(pages, (split + 1) * each);
  float* scores = shared + warp * kPageTokens;  // [kWarps][64]
  float* parts = shared + kWarps * kPageTokens;
  float* sums = parts + warp * (value_dim + 2);  // [kWarps][2 + value_dim]
  float query[kItems] = {}, sum[kItems] = {};
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int64_t i = j * 32 + lane;
    if (i < key_dim) query[j] = ToFloat(place.query[i]) * static_cast<float>(a.scale);
  }
  float high = -INFINITY, total = 0;
  for (int64_t p = begin + warp; p < end; p += kWarps) {
    const T* keys = place.keys + place.list[p] * place.page_keys;
    const T* values = place.values + place.list[p] * place.page_values;
    const int64_t low = max(int64_t{0}, place.seen.low - p * kPageTokens);
    const int64_t top = min(kPageTokens, place.seen.high - p * kPageTokens);
    for (int64_t row = 0; row < kPageTokens; ++row) {
      float score = 0;
#pragma unroll
      for (int j = 0; j < kItems; ++j) {
        const int64_t i = j * 32 + lane;
        if (i < key_dim) score += query[j] * ToFloat(keys[row * key_dim + i]);
      }
      score = LaneSum(score);
      if (lane == 0) scores[row] = row >= low && row < top ? score : -INFINITY;
    }
    __syncwarp();
    float s0 = scores[lane], s1 = scores[lane + 32];
    const float new_high = fmaxf(high, LaneMax(fmaxf(s0, s1)));
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
    for (int j = 0; j < kItems; ++j) {
      const int64_t i = j * 32 + lane;
      sum[j] *= factor;
      if (i >= value_dim) continue;
      for (int64_t row = low; row < top; ++row) {
        sum[j] += scores[row] * ToFloat(values[row * value_dim + i]);
      }
    }
    __syncwarp();
  }
  total = LaneSum(total);
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int64_t i = j * 32 + lane;
    if (i < value_dim) sums[2 + i] = sum[j];
  }
  if (lane == 0) {
    sums[0] = high;
    sums[1] = total;
  }
  __syncthreads();
  LeavePart<T>(a, parts, splits, s, query_head, split);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) JoinKernel(DecodeAttentionArgs a, int64_t splits) {
  __shared__ float factors[kMostSplits], shared[32];
  const int64_t query_head = blockIdx.x, s = blockIdx.y, value_dim = a.pool.value_dim;
  AwaitPrevious();
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
    o[i] = FromFloat<T>(total == 0 ? 0.0f : value / total);
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
  auto kernel = PageKernel<T>;
  int64_t shared = 0;
  if (vectors && kd == 64 && vd == 64) {
    kernel = UnitKernel<T, 64, 64, N>;
  } else if (vectors && kd == 64 && vd == 128) {
    kernel = UnitKernel<T, 64, 128, N>;
  } else if (vectors && kd == 128 && vd == 128) {
    kernel = UnitKernel<T, 128, 128, N>;
  } else {
    shared = kWarps * (kPageTokens + vd + 2) * 4;
  }
  const OverlappedLaunch launch(
      dim3(static_cast<unsigned>(splits), static_cast<unsigned>(a.query_heads),
           static_cast<unsigned>(a.sequences)),
      dim3(kThreads), shared, stream);
  Check(cudaLaunchKernelEx(launch.config(), kernel, a, splits), "decode attention");
  if (splits == 1 || a.parts_only) return;
  const OverlappedLaunch join(
      dim3(static_cast<unsigned>(a.query_heads), static_cast<unsigned>(a.sequences)),
      dim3(kThreads), 0, stream);
  Check(cudaLaunchKernelEx(join.config(), JoinKernel<T>, a, splits), "decode attention");
}

}  // namespace

int64_t DecodeAttentionSplits(const DecodeAttentionArgs& a) { return SplitsOf(a); }

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
