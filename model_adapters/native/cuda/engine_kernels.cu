// The engine's own small kernels. No Torch header here: nvcc takes a minute over one.
#include <cuda_bf16.h>

#include "model_adapters/native/cuda/engine_kernels.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;
using kernels::cuda::ChunkPlan;
using kernels::cuda::PageTable;

constexpr int kThreads = 128;

__global__ void NothingKernel() {}

__device__ int PagesOf(int keys) { return (keys + 63) / 64; }

// grid: (pairs, layers, groups)
__global__ void ForkListsKernel(const KvLayerView* layers, const int32_t* pairs) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t group = blockIdx.z;
  if (group >= layer.table.groups) return;
  const int64_t source = pairs[2 * blockIdx.x] * layer.table.groups + group;
  const int64_t target = pairs[2 * blockIdx.x + 1] * layer.table.groups + group;
  const int keys = layer.table.keys[source];
  const int pages = PagesOf(keys);
  const int full = keys / 64;
  const int32_t* from = layer.table.pages + source * layer.table.max_pages;
  int32_t* to = layer.table.pages + target * layer.table.max_pages;
  __shared__ int32_t copy;
  if (threadIdx.x == 0) {
    layer.table.keys[target] = keys;
    copy = -1;
    if (pages > full) {
      copy = layer.table.free[atomicSub(layer.table.free_count, 1) - 1];
      to[full] = copy;
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < full; i += kThreads) {
    to[i] = from[i];
    atomicAdd(layer.more_owners + from[i], 1);
  }
  __syncthreads();
  if (copy < 0) return;
  const auto move = [&](char* pool, int64_t bytes) {
    const auto* s = reinterpret_cast<const int4*>(pool + from[full] * bytes);
    auto* t = reinterpret_cast<int4*>(pool + copy * bytes);
    for (int64_t i = threadIdx.x; i < bytes / 16; i += kThreads) t[i] = s[i];
  };
  move(layer.keys, layer.key_page_bytes);
  move(layer.values, layer.value_page_bytes);
}

// grid: (lists, layers, groups)
__global__ void ReleaseListsKernel(const KvLayerView* layers, const int32_t* lists) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t group = blockIdx.z;
  if (group >= layer.table.groups) return;
  const int64_t list = lists[blockIdx.x] * layer.table.groups + group;
  int32_t* held = layer.table.pages + list * layer.table.max_pages;
  // Past its end a list may hold a page in reserve; then come -1 alone.
  for (int64_t begin = 0; begin < layer.table.max_pages; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    const int32_t page = i < layer.table.max_pages ? held[i] : -1;
    if (page >= 0) {
      held[i] = -1;
      // Two lists of one call may hold the page: each takes one owner off, the last one frees it.
      if (atomicSub(layer.more_owners + page, 1) == 0) {
        layer.more_owners[page] = 0;
        layer.table.free[atomicAdd(layer.table.free_count, 1)] = page;
      }
    }
    if (!__syncthreads_or(page >= 0)) break;
  }
  if (threadIdx.x == 0) layer.table.keys[list] = 0;
}

__device__ bool Forced(int64_t layer, int64_t chunk, int64_t head, double share) {
  uint64_t z = static_cast<uint64_t>(layer) * 0x9E3779B97F4A7C15u +
               static_cast<uint64_t>(chunk) * 0xC2B2AE3D27D4EB4Fu +
               static_cast<uint64_t>(head) * 0x165667B19E3779F9u + 1;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53 < share;
}

// The absolute position of chunk entry c's first row; -1: unused.
__device__ int64_t ChunkPosition(const ChunkPlan& plan, int64_t c) {
  const int32_t s = plan.chunk_sequence[c];
  if (s < 0) return -1;
  return (plan.first == nullptr ? 0 : plan.first[s]) + plan.chunk_row[c] - plan.offsets[s];
}

__global__ void ForceChoicesKernel(ChunkPlan plan, const int64_t* positions, int64_t rows,
                                   int64_t heads, int64_t layer, double share, uint8_t* forced) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * heads) return;
  const int64_t position =
      positions != nullptr ? positions[i / heads] : ChunkPosition(plan, i / heads);
  forced[i] = position >= 0 && Forced(layer, position / kPageTokens, i % heads, share) ? 1 : 0;
}

__global__ void CountChoicesKernel(ChunkPlan plan, const int64_t* positions, int64_t rows,
                                   int64_t heads, const uint8_t* softmax,
                                   unsigned long long* counts) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * heads) return;
  const int64_t row = i / heads, head = i % heads;
  int64_t last;
  if (positions != nullptr) {
    last = positions[row];
  } else {
    const int64_t position = ChunkPosition(plan, row);
    if (position < 0 || plan.chunk_rows[row] == 0) return;
    last = position + plan.chunk_rows[row] - 1;
  }
  if (last % kPageTokens != kPageTokens - 1) return;
  if (softmax[i]) atomicAdd(counts + 2 * head, 1ull);
  atomicAdd(counts + 2 * head + 1, 1ull);
}

__global__ void RecordIdsKernel(const int32_t* ids, int64_t count, int32_t* history,
                                int64_t* step) {
  const int64_t row = *step;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) history[row * count + i] = ids[i];
  __syncthreads();
  if (threadIdx.x == 0) *step = row + 1;
}

template <typename T>
struct Piece;  // 16 bytes of T as floats
template <>
struct Piece<float> {
  static constexpr int kSize = 4;
  static __device__ void Read(const float* p, float (&out)[4]) {
    const float4 v = *reinterpret_cast<const float4*>(p);
    out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
  }
};
template <>
struct Piece<__nv_bfloat16> {
  static constexpr int kSize = 8;
  static __device__ void Read(const __nv_bfloat16* p, float (&out)[8]) {
    const uint4 v = *reinterpret_cast<const uint4*>(p);
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = __uint_as_float(words[i] << 16);
      out[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
    }
  }
};

__device__ float ToFloat(float x) { return x; }
__device__ float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void Store(float* y, float x) { *y = x; }
__device__ void Store(__nv_bfloat16* y, float x) { *y = __float2bfloat16(x); }

// One warp an output; lanes stride over `in` in pieces of 16 bytes.
template <typename T, typename Y, int kRows, bool kGated>
__global__ void __launch_bounds__(kThreads) SkinnyKernel(SkinnyProductArgs args) {
  constexpr int kPiece = Piece<T>::kSize;
  const int64_t n = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (n >= args.out) return;
  const T* weight = static_cast<const T*>(args.weight) + n * args.in;
  const T* x = static_cast<const T*>(args.x);
  const T* up = static_cast<const T*>(args.up);
  float sums[kRows] = {};
#pragma unroll 4
  for (int64_t c = lane * kPiece; c < args.in; c += 32 * kPiece) {
    float w[kPiece];
    Piece<T>::Read(weight + c, w);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float v[kPiece];
      Piece<T>::Read(x + r * args.x_stride + c, v);
      if constexpr (kGated) {
        float u[kPiece];
        Piece<T>::Read(up + r * args.up_stride + c, u);
#pragma unroll
        for (int i = 0; i < kPiece; ++i) {
          // Rounded as the unfused product is, so that both forms agree.
          T rounded;
          Store(&rounded, v[i] / (1 + __expf(-v[i])) * u[i]);
          v[i] = ToFloat(rounded);
        }
      }
#pragma unroll
      for (int i = 0; i < kPiece; ++i) sums[r] = fmaf(v[i], w[i], sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int shift = 16; shift > 0; shift /= 2) {
      sums[r] += __shfl_xor_sync(0xFFFFFFFFu, sums[r], shift);
    }
    if (lane == r) {
      const float bias = args.bias == nullptr ? 0 : ToFloat(static_cast<const T*>(args.bias)[n]);
      Store(static_cast<Y*>(args.y) + r * args.y_stride + n, sums[r] + bias);
    }
  }
}

template <typename T, typename Y, bool kGated>
void LaunchSkinny(const SkinnyProductArgs& args, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((args.out * 32 + kThreads - 1) / kThreads);
  switch (args.rows) {
#define NATSL_ROWS(n)                                                     \
  case n:                                                                 \
    SkinnyKernel<T, Y, n, kGated><<<blocks, kThreads, 0, stream>>>(args); \
    break;
    NATSL_ROWS(1)
    NATSL_ROWS(2)
    NATSL_ROWS(3)
    NATSL_ROWS(4)
    NATSL_ROWS(5)
    NATSL_ROWS(6)
    NATSL_ROWS(7)
    NATSL_ROWS(8)
#undef NATSL_ROWS
  }
}

dim3 GridOf(int64_t count, int64_t layers, int64_t groups) {
  return dim3(static_cast<unsigned>(count), static_cast<unsigned>(layers),
              static_cast<unsigned>(groups));
}

unsigned BlocksOf(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

bool KernelsRunHere() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, NothingKernel) == cudaSuccess;
}

void RunForkLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                  const int32_t* pairs, int64_t count, cudaStream_t stream) {
  if (count == 0 || layer_count == 0) return;
  ForkListsKernel<<<GridOf(count, layer_count, most_groups), kThreads, 0, stream>>>(layers, pairs);
  kernels::cuda::Check(cudaGetLastError(), "fork lists");
}

void RunReleaseLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                     const int32_t* lists, int64_t count, cudaStream_t stream) {
  if (count == 0 || layer_count == 0) return;
  ReleaseListsKernel<<<GridOf(count, layer_count, most_groups), kThreads, 0, stream>>>(layers,
                                                                                       lists);
  kernels::cuda::Check(cudaGetLastError(), "release lists");
}

void RunForceChoices(const ForceChoicesArgs& args, cudaStream_t stream) {
  const ChunkPlan plan = args.plan == nullptr ? ChunkPlan() : *args.plan;
  const int64_t rows = args.plan == nullptr ? args.rows : plan.max_chunks;
  if (rows * args.heads == 0) return;
  ForceChoicesKernel<<<BlocksOf(rows * args.heads), kThreads, 0, stream>>>(
      plan, args.plan == nullptr ? args.positions : nullptr, rows, args.heads, args.layer,
      args.share, args.forced);
  kernels::cuda::Check(cudaGetLastError(), "force choices");
}

void RunCountChoices(const CountChoicesArgs& args, cudaStream_t stream) {
  const ChunkPlan plan = args.plan == nullptr ? ChunkPlan() : *args.plan;
  const int64_t rows = args.plan == nullptr ? args.rows : plan.max_chunks;
  if (rows * args.heads == 0) return;
  CountChoicesKernel<<<BlocksOf(rows * args.heads), kThreads, 0, stream>>>(
      plan, args.plan == nullptr ? args.positions : nullptr, rows, args.heads, args.softmax,
      args.counts);
  kernels::cuda::Check(cudaGetLastError(), "count choices");
}

void RunRecordIds(const int32_t* ids, int64_t count, int32_t* history, int64_t* step,
                  cudaStream_t stream) {
  RecordIdsKernel<<<1, kThreads, 0, stream>>>(ids, count, history, step);
  kernels::cuda::Check(cudaGetLastError(), "record ids");
}

bool SkinnyFits(const SkinnyProductArgs& args) {
  const int64_t bytes = args.dtype == kernels::DType::kBFloat16 ? 2 : 4;
  const auto aligned = [&](const void* p, int64_t stride) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 && stride * bytes % 16 == 0;
  };
  return args.rows >= 1 && args.rows <= kMostSkinnyRows && args.in * bytes % 16 == 0 &&
         aligned(args.x, args.x_stride) && aligned(args.up, args.up_stride) &&
         aligned(args.weight, args.in);
}

void RunSkinnyProduct(const SkinnyProductArgs& args, cudaStream_t stream) {
  const bool gated = args.up != nullptr;
  if (args.dtype == kernels::DType::kFloat32) {
    gated ? LaunchSkinny<float, float, true>(args, stream)
          : LaunchSkinny<float, float, false>(args, stream);
  } else if (args.float_output) {
    LaunchSkinny<__nv_bfloat16, float, false>(args, stream);
  } else {
    gated ? LaunchSkinny<__nv_bfloat16, __nv_bfloat16, true>(args, stream)
          : LaunchSkinny<__nv_bfloat16, __nv_bfloat16, false>(args, stream);
  }
  kernels::cuda::Check(cudaGetLastError(), "skinny product");
}

}  // namespace natsl::model_adapters::native::cuda
