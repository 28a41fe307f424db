// The inputs of few-row products: every block makes f(x) of all rows in its shared memory. Included
// by .cu only.
#pragma once

#include <cuda_bf16.h>

#include "kernels/cuda/device.cuh"
#include "model_adapters/native/cuda/skinny_product.h"

namespace natsl::model_adapters::native::cuda {

constexpr int kSkinnyThreads = 256;
constexpr int kSkinnyWarps = kSkinnyThreads / 32;

template <typename T>
struct Piece;  // 16 bytes of T
template <>
struct Piece<float> {
  static constexpr int kSize = 4;
  static __device__ void Widen(uint4 v, float (&out)[4]) {
    out[0] = __uint_as_float(v.x), out[1] = __uint_as_float(v.y);
    out[2] = __uint_as_float(v.z), out[3] = __uint_as_float(v.w);
  }
  static __device__ uint4 Narrow(const float (&in)[4]) {
    return make_uint4(__float_as_uint(in[0]), __float_as_uint(in[1]), __float_as_uint(in[2]),
                      __float_as_uint(in[3]));
  }
};
template <>
struct Piece<__nv_bfloat16> {
  static constexpr int kSize = 8;
  static __device__ void Widen(uint4 v, float (&out)[8]) {
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = __uint_as_float(words[i] << 16);
      out[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
    }
  }
  static __device__ uint4 Narrow(const float (&in)[8]) {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(in[2 * i], in[2 * i + 1]);
      words[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
};

template <typename T>
__device__ void Read(const void* base, int64_t offset, float (&out)[Piece<T>::kSize]) {
  Piece<T>::Widen(*reinterpret_cast<const uint4*>(static_cast<const T*>(base) + offset), out);
}

/// One row, the usual case: a thread (kNormed) or a lane (kHeadNormed) holds one piece in
/// registers. The norm's parameters are read before the row is there (Ahead), the row once.
template <typename T>
struct HeldInput {
  static constexpr int N = Piece<T>::kSize;
  float weight[N], bias[N];

  static __device__ bool Fits(const SkinnyProductArgs& args) {
    using Input = SkinnyProductArgs::Input;
    if (args.rows != 1) return false;
    if (args.input == Input::kNormed) return args.in <= kSkinnyThreads * N;
    return args.input == Input::kHeadNormed && args.group <= 32 * N &&
           args.in <= kSkinnyWarps * args.group;
  }

  // First column of this thread's piece, and where its parameters are; `in` or more: none.
  static __device__ int64_t Column(const SkinnyProductArgs& args, int64_t* parameter) {
    if (args.input == SkinnyProductArgs::Input::kNormed) {
      *parameter = threadIdx.x * int64_t{N};
      return *parameter;
    }
    const int64_t inside = threadIdx.x % 32 * int64_t{N};
    const int64_t c = threadIdx.x / 32 * args.group + inside;
    *parameter = args.weight_per_group ? c : inside;
    return inside < args.group ? c : args.in;
  }

  __device__ void Ahead(const SkinnyProductArgs& args) {
    const float extra = args.op == kernels::NormOp::kRmsOnePlus ? 1.0f : 0.0f;
    int64_t parameter;
    const bool mine = Column(args, &parameter) < args.in;
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      float4 w = make_float4(1, 1, 1, 1), b = make_float4(0, 0, 0, 0);
      if (mine && args.norm_weight != nullptr) {
        w = *reinterpret_cast<const float4*>(args.norm_weight + parameter + i);
        w.x += extra, w.y += extra, w.z += extra, w.w += extra;
      }
      if (mine && args.norm_bias != nullptr) {
        b = *reinterpret_cast<const float4*>(args.norm_bias + parameter + i);
      }
      weight[i] = w.x, weight[i + 1] = w.y, weight[i + 2] = w.z, weight[i + 3] = w.w;
      bias[i] = b.x, bias[i + 1] = b.y, bias[i + 2] = b.z, bias[i + 3] = b.w;
    }
  }

  // The block's sum of `x`; `partial` [kSkinnyWarps] is shared memory of this sum alone.
  static __device__ float BlockSum(float x, float* partial) {
    x = kernels::cuda::LaneSum(x);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    float total = 0;
#pragma unroll
    for (int i = 0; i < kSkinnyWarps; ++i) total += partial[i];
    return total;
  }

  __device__ void Make(const SkinnyProductArgs& args, uint4* shared) const {
    if (args.input == SkinnyProductArgs::Input::kNormed) {
      MakeNormed(args, shared);
    } else {
      MakeHeadNormed(args, shared);
    }
  }

 private:
  __device__ void MakeNormed(const SkinnyProductArgs& args, uint4* shared) const {
    __shared__ float partial[2][kSkinnyWarps];
    const int64_t c = threadIdx.x * int64_t{N};
    const bool mine = c < args.in;
    float value[N] = {};
    if (mine) {
      Read<T>(args.x, c, value);
      if (args.residual != nullptr) {
        float more[N];
        Read<T>(args.residual, c, more);
#pragma unroll
        for (int i = 0; i < N; ++i) value[i] += more[i];
      }
    }
    const float width = static_cast<float>(args.in);
    float shift = 0, squares = 0;
    if (args.op == kernels::NormOp::kLayer) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) sum += value[i];
      shift = BlockSum(sum, partial[0]) / width;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (mine) squares = fmaf(value[i] - shift, value[i] - shift, squares);
    }
    const float factor =
        rsqrtf(BlockSum(squares, partial[1]) / width + static_cast<float>(args.eps));
    if (!mine) return;
    if (args.sum != nullptr && blockIdx.x == 0) {
      static_cast<uint4*>(args.sum)[threadIdx.x] = Piece<T>::Narrow(value);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] = (value[i] - shift) * factor * weight[i] + bias[i];
    shared[threadIdx.x] = Piece<T>::Narrow(value);
  }

  __device__ void MakeHeadNormed(const SkinnyProductArgs& args, uint4* shared) const {
    int64_t parameter;
    const int64_t c = Column(args, &parameter);
    const bool mine = c < args.in;
    float value[N] = {}, opened[N];
    if (mine) Read<T>(args.x, c, value);
    if (mine && args.gate != nullptr) {
      Read<T>(args.gate, c, opened);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        opened[i] = kernels::cuda::Silu(opened[i]);
        if (args.gate_order == kernels::GateOrder::kGateFirst) value[i] *= opened[i];
      }
    }
    float squares = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) squares = fmaf(value[i], value[i], squares);
    const float factor = rsqrtf(kernels::cuda::LaneSum(squares) / static_cast<float>(args.group) +
                                static_cast<float>(args.eps));
    if (!mine) return;
    const bool gated = args.gate != nullptr && args.gate_order == kernels::GateOrder::kNormFirst;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      value[i] *= factor * weight[i];
      if (gated) value[i] *= opened[i];
    }
    shared[c / N] = Piece<T>::Narrow(value);
  }
};

/// One warp: norm(x + residual) of row r.
template <typename T>
__device__ void NormRow(const SkinnyProductArgs& args, int64_t r, uint4* shared) {
  constexpr int N = Piece<T>::kSize;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int pieces = static_cast<int>(args.in / N);
  const auto value = [&](int p, float(&v)[N]) {
    Read<T>(args.x, r * args.x_stride + p * N, v);
    if (args.residual == nullptr) return;
    float more[N];
    Read<T>(args.residual, r * args.residual_stride + p * N, more);
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] += more[i];
  };
  float sum = 0, squares = 0;
#pragma unroll 4
  for (int p = lane; p < pieces; p += 32) {
    float v[N];
    value(p, v);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sum += v[i];
      squares = fmaf(v[i], v[i], squares);
    }
  }
  const float width = static_cast<float>(args.in);
  float shift = 0;
  if (args.op == kernels::NormOp::kLayer) {
    shift = kernels::cuda::LaneSum(sum) / width;
    squares = 0;
    for (int p = lane; p < pieces; p += 32) {
      float v[N];
      value(p, v);
#pragma unroll
      for (int i = 0; i < N; ++i) squares = fmaf(v[i] - shift, v[i] - shift, squares);
    }
  }
  const float factor =
      rsqrtf(kernels::cuda::LaneSum(squares) / width + static_cast<float>(args.eps));
  const float extra = args.op == kernels::NormOp::kRmsOnePlus ? 1.0f : 0.0f;
  for (int p = lane; p < pieces; p += 32) {
    float v[N];
    value(p, v);
    if (args.sum != nullptr && blockIdx.x == 0) {
      reinterpret_cast<uint4*>(static_cast<T*>(args.sum) + r * args.in)[p] = Piece<T>::Narrow(v);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int64_t c = p * N + i;
      v[i] = (v[i] - shift) * factor;
      if (args.norm_weight != nullptr) v[i] *= args.norm_weight[c] + extra;
      if (args.norm_bias != nullptr) v[i] += args.norm_bias[c];
    }
    shared[p] = Piece<T>::Narrow(v);
  }
}

/// One warp: a group of row r.
template <typename T>
__device__ void NormGroup(const SkinnyProductArgs& args, int64_t r, int64_t group, uint4* shared) {
  constexpr int N = Piece<T>::kSize;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t base = group * args.group;
  const int pieces = static_cast<int>(args.group / N);
  const auto value = [&](int p, float(&v)[N], float(&opened)[N]) {
    Read<T>(args.x, r * args.x_stride + base + p * N, v);
    if (args.gate == nullptr) return;
    Read<T>(args.gate, r * args.gate_stride + base + p * N, opened);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      opened[i] = kernels::cuda::Silu(opened[i]);
      if (args.gate_order == kernels::GateOrder::kGateFirst) v[i] *= opened[i];
    }
  };
  float squares = 0;
  for (int p = lane; p < pieces; p += 32) {
    float v[N], opened[N];
    value(p, v, opened);
#pragma unroll
    for (int i = 0; i < N; ++i) squares = fmaf(v[i], v[i], squares);
  }
  const float factor = rsqrtf(kernels::cuda::LaneSum(squares) / static_cast<float>(args.group) +
                              static_cast<float>(args.eps));
  const float* weight = args.norm_weight;
  if (weight != nullptr && args.weight_per_group) weight += base;
  const bool gated = args.gate != nullptr && args.gate_order == kernels::GateOrder::kNormFirst;
  for (int p = lane; p < pieces; p += 32) {
    float v[N], opened[N];
    value(p, v, opened);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      v[i] *= factor;
      if (weight != nullptr) v[i] *= weight[p * N + i];
      if (gated) v[i] *= opened[i];
    }
    shared[base / N + p] = Piece<T>::Narrow(v);
  }
}

/// f(x) of all rows into shared memory, rows `row_pieces` pieces apart.
template <typename T>
__device__ void MakeInput(const SkinnyProductArgs& args, uint4* shared, int row_pieces) {
  using Input = SkinnyProductArgs::Input;
  constexpr int N = Piece<T>::kSize;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (args.input == Input::kNormed) {
    for (int64_t r = warp; r < args.rows; r += kSkinnyWarps) {
      NormRow<T>(args, r, shared + r * row_pieces);
    }
    return;
  }
  if (args.input == Input::kHeadNormed) {
    const int64_t groups = args.in / args.group;
    for (int64_t unit = warp; unit < args.rows * groups; unit += kSkinnyWarps) {
      NormGroup<T>(args, unit / groups, unit % groups, shared + unit / groups * row_pieces);
    }
    return;
  }
  // Two pieces are asked for before the first is used.
  const int pieces = static_cast<int>(args.in / N);
  const bool gated = args.input == Input::kGated;
  for (int64_t r = 0; r < args.rows; ++r) {
    const T* x = static_cast<const T*>(args.x) + r * args.x_stride;
    const T* gate = static_cast<const T*>(args.gate) + r * args.gate_stride;
    for (int p = static_cast<int>(threadIdx.x); p < pieces; p += 2 * kSkinnyThreads) {
      uint4 values[2], gates[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = p + i * kSkinnyThreads;
        if (at >= pieces) continue;
        values[i] = *reinterpret_cast<const uint4*>(x + at * N);
        if (gated) gates[i] = *reinterpret_cast<const uint4*>(gate + at * N);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = p + i * kSkinnyThreads;
        if (at >= pieces) continue;
        if (gated) {
          float v[N], g[N];
          Piece<T>::Widen(values[i], v);
          Piece<T>::Widen(gates[i], g);
#pragma unroll
          for (int e = 0; e < N; ++e) v[e] = kernels::cuda::Silu(v[e]) * g[e];
          values[i] = Piece<T>::Narrow(v);
        }
        shared[r * row_pieces + at] = values[i];
      }
    }
  }
}

}  // namespace natsl::model_adapters::native::cuda
