// What the kernels share: element types, 16-byte vectors, reductions, launches. Included by .cu
// only.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace natsl::kernels::cuda {

using bf16 = __nv_bfloat16;

__device__ inline float ToFloat(float x) { return x; }
__device__ inline float ToFloat(bf16 x) { return __bfloat162float(x); }

template <typename T>
__device__ inline T FromFloat(float x);
template <>
__device__ inline float FromFloat<float>(float x) {
  return x;
}
template <>
__device__ inline bf16 FromFloat<bf16>(float x) {
  return __float2bfloat16_rn(x);
}

/// N elements, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
  T v[N];
};

template <typename T, int N>
__device__ inline void Load(const T* p, float (&out)[N]) {
  const Vec<T, N> data = *reinterpret_cast<const Vec<T, N>*>(p);
#pragma unroll
  for (int i = 0; i < N; ++i) out[i] = ToFloat(data.v[i]);
}

template <typename T, int N>
__device__ inline void Store(T* p, const float (&in)[N]) {
  Vec<T, N> data;
#pragma unroll
  for (int i = 0; i < N; ++i) data.v[i] = FromFloat<T>(in[i]);
  *reinterpret_cast<Vec<T, N>*>(p) = data;
}

/// Sum over `lanes` (a power of two up to 32) neighbouring lanes, in every lane.
__device__ inline float LaneSum(float x, int lanes = 32) {
  for (int d = lanes / 2; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
  return x;
}
__device__ inline float LaneMax(float x, int lanes = 32) {
  for (int d = lanes / 2; d > 0; d >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
  return x;
}

/// Sum over the block, in every thread; `shared` holds 32 floats. Begins with a barrier.
__device__ inline float BlockSum(float x, float* shared) {
  x = LaneSum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  const int warps = (blockDim.x + 31) / 32;
  return LaneSum(threadIdx.x % 32 < warps ? shared[threadIdx.x % 32] : 0.0f);
}

/// 2^x; 0 for -infinity and where the result would be subnormal.
__device__ inline float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

/// Like fmaxf and fminf, but an x that is no number stays one.
__device__ inline float AtLeast(float x, float low) { return x < low ? low : x; }
__device__ inline float AtMost(float x, float high) { return x > high ? high : x; }

__device__ inline float Sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }
__device__ inline float Silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
__device__ inline float Softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }
__device__ inline float LogSigmoid(float x) { return fminf(x, 0.0f) - log1pf(expf(-fabsf(x))); }

/// In a kernel of an OverlappedLaunch: waits for the kernel before, then lets the next one of the
/// stream begin. (Letting it begin earlier, so that three kernels stand by, was slower.)
__device__ inline void AwaitPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;\n");
#endif
}

/// Largest s with offsets[s] <= row, for a row of the batch.
__device__ inline int64_t SequenceOf(const int64_t* offsets, int64_t sequences, int64_t row) {
  if (offsets == nullptr) return row;
  int64_t low = 0, high = sequences;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (offsets[middle] <= row ? low : high) = middle;
  }
  return low;
}

__device__ inline int64_t ReadSlot(const StateSlots& slots, int64_t s) {
  return slots.read == nullptr ? s : slots.read[s];
}
__device__ inline int64_t WriteSlot(const StateSlots& slots, int64_t s) {
  return slots.write == nullptr ? s : slots.write[s];
}

}  // namespace natsl::kernels::cuda
