// The few-row product: weights are asked for before the input is ready (programmatic dependent
// launch), the input is made once a block in shared memory, a warp computes one or a few outputs.
#include <cuda_bf16.h>

#include "kernels/cuda/common.h"
#include "model_adapters/native/cuda/skinny_product.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using Input = SkinnyProductArgs::Input;
using kernels::GateOrder;
using kernels::NormOp;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int64_t kMostSharedBytes = 96 * 1024;
// Outputs beyond which a warp computes two, and four. Three blocks of pairs fit a multiprocessor:
// all blocks of a layer's products run at once on 132 of them.
constexpr int64_t kPairOutputs = 2112, kQuadOutputs = 16384;

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

__device__ float ToFloat(float x) { return x; }
__device__ float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void Store(float* y, float x) { *y = x; }
__device__ void Store(__nv_bfloat16* y, float x) { *y = __float2bfloat16(x); }
__device__ float Silu(float x) { return x / (1 + __expf(-x)); }

__device__ float WarpSum(float x) {
#pragma unroll
  for (int shift = 16; shift > 0; shift /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, shift);
  return x;
}

template <typename T>
__device__ void Read(const void* base, int64_t offset, float (&out)[Piece<T>::kSize]) {
  Piece<T>::Widen(*reinterpret_cast<const uint4*>(static_cast<const T*>(base) + offset), out);
}

// One warp: norm(x + residual) of row r.
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
  if (args.op == NormOp::kLayer) {
    shift = WarpSum(sum) / width;
    squares = 0;
    for (int p = lane; p < pieces; p += 32) {
      float v[N];
      value(p, v);
#pragma unroll
      for (int i = 0; i < N; ++i) squares = fmaf(v[i] - shift, v[i] - shift, squares);
    }
  }
  const float factor = rsqrtf(WarpSum(squares) / width + static_cast<float>(args.eps));
  const float extra = args.op == NormOp::kRmsOnePlus ? 1.0f : 0.0f;
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

// The whole block: a single row whose pieces the threads hold in registers, kHeld each. The norm's
// parameters are read before the row is there (Ahead), the row once.
constexpr int kHeld = 1;
template <typename T>
struct HeldNorm {
  static constexpr int N = Piece<T>::kSize;
  float weight[kHeld][N], bias[kHeld][N];

  static __device__ bool Fits(const SkinnyProductArgs& args) {
    return args.input == Input::kNormed && args.rows == 1 && args.in <= kHeld * kThreads * N;
  }

  __device__ void Ahead(const SkinnyProductArgs& args) {
    const float extra = args.op == NormOp::kRmsOnePlus ? 1.0f : 0.0f;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const int64_t c = (threadIdx.x + j * kThreads) * int64_t{N};
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        float4 w = make_float4(1, 1, 1, 1), b = make_float4(0, 0, 0, 0);
        if (c < args.in && args.norm_weight != nullptr) {
          w = *reinterpret_cast<const float4*>(args.norm_weight + c + i);
          w.x += extra, w.y += extra, w.z += extra, w.w += extra;
        }
        if (c < args.in && args.norm_bias != nullptr) {
          b = *reinterpret_cast<const float4*>(args.norm_bias + c + i);
        }
        weight[j][i] = w.x, weight[j][i + 1] = w.y, weight[j][i + 2] = w.z, weight[j][i + 3] = w.w;
        bias[j][i] = b.x, bias[j][i + 1] = b.y, bias[j][i + 2] = b.z, bias[j][i + 3] = b.w;
      }
    }
  }

  // The block's sum of `x`; `partial` [kWarps] is shared memory of this sum alone.
  static __device__ float BlockSum(float x, float* partial) {
    x = WarpSum(x);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
    __syncthreads();
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += partial[i];
    return total;
  }

  __device__ void Make(const SkinnyProductArgs& args, uint4* shared) const {
    __shared__ float partial[2][kWarps];
    float value[kHeld][N];
    float sum = 0, squares = 0;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const int64_t c = (threadIdx.x + j * kThreads) * int64_t{N};
#pragma unroll
      for (int i = 0; i < N; ++i) value[j][i] = 0;
      if (c >= args.in) continue;
      Read<T>(args.x, c, value[j]);
      if (args.residual != nullptr) {
        float more[N];
        Read<T>(args.residual, c, more);
#pragma unroll
        for (int i = 0; i < N; ++i) value[j][i] += more[i];
      }
#pragma unroll
      for (int i = 0; i < N; ++i) {
        sum += value[j][i];
        squares = fmaf(value[j][i], value[j][i], squares);
      }
    }
    const float width = static_cast<float>(args.in);
    float shift = 0;
    if (args.op == NormOp::kLayer) {
      shift = BlockSum(sum, partial[0]) / width;
      squares = 0;
#pragma unroll
      for (int j = 0; j < kHeld; ++j) {
        if ((threadIdx.x + j * kThreads) * int64_t{N} >= args.in) continue;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          squares = fmaf(value[j][i] - shift, value[j][i] - shift, squares);
        }
      }
    }
    const float factor =
        rsqrtf(BlockSum(squares, partial[1]) / width + static_cast<float>(args.eps));
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const int64_t p = threadIdx.x + j * kThreads;
      if (p * N >= args.in) continue;
      if (args.sum != nullptr && blockIdx.x == 0) {
        static_cast<uint4*>(args.sum)[p] = Piece<T>::Narrow(value[j]);
      }
      float v[N];
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] = (value[j][i] - shift) * factor * weight[j][i] + bias[j][i];
      shared[p] = Piece<T>::Narrow(v);
    }
  }
};

// One warp: a group of row r.
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
      opened[i] = Silu(opened[i]);
      if (args.gate_order == GateOrder::kGateFirst) v[i] *= opened[i];
    }
  };
  float squares = 0;
  for (int p = lane; p < pieces; p += 32) {
    float v[N], opened[N];
    value(p, v, opened);
#pragma unroll
    for (int i = 0; i < N; ++i) squares = fmaf(v[i], v[i], squares);
  }
  const float factor =
      rsqrtf(WarpSum(squares) / static_cast<float>(args.group) + static_cast<float>(args.eps));
  const float* weight = args.norm_weight;
  if (weight != nullptr && args.weight_per_group) weight += base;
  for (int p = lane; p < pieces; p += 32) {
    float v[N], opened[N];
    value(p, v, opened);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      v[i] *= factor;
      if (weight != nullptr) v[i] *= weight[p * N + i];
      if (args.gate != nullptr && args.gate_order == GateOrder::kNormFirst) v[i] *= opened[i];
    }
    shared[base / N + p] = Piece<T>::Narrow(v);
  }
}

// f(x) of all rows into shared memory, [rows, in / N] pieces.
template <typename T>
__device__ void MakeInput(const SkinnyProductArgs& args, uint4* shared) {
  constexpr int N = Piece<T>::kSize;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t pieces = args.in / N;
  if (args.input == Input::kNormed) {
    for (int64_t r = warp; r < args.rows; r += kWarps) NormRow<T>(args, r, shared + r * pieces);
    return;
  }
  if (args.input == Input::kHeadNormed) {
    const int64_t groups = args.in / args.group;
    for (int64_t unit = warp; unit < args.rows * groups; unit += kWarps) {
      NormGroup<T>(args, unit / groups, unit % groups, shared + unit / groups * pieces);
    }
    return;
  }
  for (int64_t i = threadIdx.x; i < args.rows * pieces; i += kThreads) {
    const int64_t r = i / pieces, c = i % pieces * N;
    if (args.input == Input::kPlain) {
      shared[i] =
          *reinterpret_cast<const uint4*>(static_cast<const T*>(args.x) + r * args.x_stride + c);
      continue;
    }
    float v[N], gate[N];
    Read<T>(args.x, r * args.x_stride + c, v);
    Read<T>(args.gate, r * args.gate_stride + c, gate);
#pragma unroll
    for (int e = 0; e < N; ++e) v[e] = Silu(v[e]) * gate[e];
    shared[i] = Piece<T>::Narrow(v);
  }
}

// kRows >= args.rows; kAhead: pieces of a weight row that a lane asks for before the input is
// there.
template <typename T, typename Y, int kRows, int kOutputs, int kAhead>
__global__ void __launch_bounds__(kThreads, kOutputs == 2 ? 3 : 2)
    SkinnyKernel(SkinnyProductArgs args) {
  constexpr int N = Piece<T>::kSize;
  extern __shared__ uint4 shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  const int pieces = static_cast<int>(args.in / N);
  const uint4* rows[kOutputs];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int64_t n = first + o < args.out ? first + o : args.out - 1;
    rows[o] = reinterpret_cast<const uint4*>(static_cast<const T*>(args.weight) + n * args.in);
  }
  uint4 ahead[kOutputs][kAhead];
#pragma unroll
  for (int j = 0; j < kAhead; ++j) {
    const int p = lane + 32 * j;
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      ahead[o][j] = p < pieces ? __ldg(rows[o] + p) : make_uint4(0, 0, 0, 0);
    }
  }
  const bool held = kRows == 1 && HeldNorm<T>::Fits(args);
  HeldNorm<T> norm;
  if (held) norm.Ahead(args);
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (held) {
    norm.Make(args, shared);
  } else {
    MakeInput<T>(args, shared);
  }
  __syncthreads();
  float sums[kOutputs][kRows] = {};
  const auto add = [&](int p, const uint4(&weights)[kOutputs]) {
    float w[kOutputs][N];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) Piece<T>::Widen(weights[o], w[o]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= args.rows) break;
      float v[N];
      Piece<T>::Widen(shared[r * pieces + p], v);
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
        for (int i = 0; i < N; ++i) sums[o][r] = fmaf(v[i], w[o][i], sums[o][r]);
      }
    }
  };
#pragma unroll
  for (int j = 0; j < kAhead; ++j) {
    const int p = lane + 32 * j;
    if (p >= pieces) break;
    uint4 weights[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) weights[o] = ahead[o][j];
    add(p, weights);
  }
#pragma unroll 4
  for (int p = lane + 32 * kAhead; p < pieces; p += 32) {
    uint4 weights[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) weights[o] = __ldg(rows[o] + p);
    add(p, weights);
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int64_t n = first + o;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= args.rows) break;
      const float sum = WarpSum(sums[o][r]);
      if (lane != r || n >= args.out) continue;
      const float bias = args.bias == nullptr ? 0 : ToFloat(static_cast<const T*>(args.bias)[n]);
      Store(static_cast<Y*>(args.y) + r * args.y_stride + n, sum + bias);
    }
  }
}

template <typename T, typename Y, int kRows, int kOutputs, int kAhead>
void Launch(const SkinnyProductArgs& args, cudaStream_t stream) {
  const auto kernel = SkinnyKernel<T, Y, kRows, kOutputs, kAhead>;
  const int64_t bytes = args.rows * args.in * static_cast<int64_t>(sizeof(T));
  if (bytes > 48 * 1024) {
    kernels::cuda::Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(kMostSharedBytes)),
                         "skinny product");
  }
  cudaLaunchConfig_t config = {};
  config.gridDim =
      dim3(static_cast<unsigned>((args.out + kWarps * kOutputs - 1) / (kWarps * kOutputs)));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = static_cast<size_t>(bytes);
  config.stream = stream;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  kernels::cuda::Check(cudaLaunchKernelEx(&config, kernel, args), "skinny product");
}

template <typename T, typename Y, int kRows>
void LaunchRows(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.out <= kPairOutputs) return Launch<T, Y, kRows, 1, 12>(args, stream);
  if (args.out <= kQuadOutputs) return Launch<T, Y, kRows, 2, 4>(args, stream);
  Launch<T, Y, kRows, 4, 4>(args, stream);
}

template <typename T, typename Y>
void LaunchTypes(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.rows == 1) return LaunchRows<T, Y, 1>(args, stream);
  if (args.rows == 2) return LaunchRows<T, Y, 2>(args, stream);
  if (args.rows <= 4) return LaunchRows<T, Y, 4>(args, stream);
  LaunchRows<T, Y, 8>(args, stream);
}

}  // namespace

bool SkinnyFits(const SkinnyProductArgs& args) {
  const int64_t bytes = args.dtype == kernels::DType::kBFloat16 ? 2 : 4;
  const auto aligned = [&](const void* p, int64_t stride) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 && stride * bytes % 16 == 0;
  };
  return args.rows >= 1 && args.rows <= kMostSkinnyRows && args.in * bytes % 16 == 0 &&
         args.group * bytes % 16 == 0 && args.rows * args.in * bytes <= kMostSharedBytes &&
         aligned(args.x, args.x_stride) && aligned(args.gate, args.gate_stride) &&
         aligned(args.residual, args.residual_stride) && aligned(args.weight, args.in);
}

void RunSkinnyProduct(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.dtype == kernels::DType::kFloat32) {
    LaunchTypes<float, float>(args, stream);
  } else if (args.float_output) {
    LaunchTypes<__nv_bfloat16, float>(args, stream);
  } else {
    LaunchTypes<__nv_bfloat16, __nv_bfloat16>(args, stream);
  }
}

}  // namespace natsl::model_adapters::native::cuda
