// Norms with fused residual add and gate, and NAtS-L's merge of two normed branches.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/norm.h"

namespace natsl::kernels::cuda {
namespace {

// N floats of a parameter vector that is 16-byte aligned where N is a multiple of 4.
template <int N>
__device__ void LoadParameters(const float* p, float (&out)[N]) {
  if constexpr (N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const auto four = *reinterpret_cast<const float4*>(p + i);
      out[i] = four.x;
      out[i + 1] = four.y;
      out[i + 2] = four.z;
      out[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = p[i];
  }
}

// `kLanes` threads own one (row, group) and keep its values in registers: kItems vectors of N each.
template <typename T, int N, int kLanes, int kItems>
__global__ void __launch_bounds__(256) NormKernel(NormArgs a) {
  __shared__ float shared[32];
  constexpr int kUnits = 256 / kLanes;
  const int64_t unit = blockIdx.x * int64_t{kUnits} + threadIdx.x / kLanes;
  const bool live = unit < a.rows * a.groups;
  const int64_t row = live ? unit / a.groups : 0, group = live ? unit % a.groups : 0;
  const int lane = threadIdx.x % kLanes;
  const int64_t base = group * a.width;
  const auto* x = static_cast<const T*>(a.x) + row * a.x_stride + base;
  const auto* residual = static_cast<const T*>(a.residual) + row * a.residual_stride + base;
  const auto* gate = static_cast<const T*>(a.gate) + row * a.gate_stride + base;
  auto* sum_out = static_cast<T*>(a.sum) + row * a.groups * a.width + base;
  auto* y = static_cast<T*>(a.y) + row * a.y_stride + base;

  // Everything is asked for before any of it is used or stored.
  Vec<T, N> inputs[kItems], residuals[kItems], gates[kItems];
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int64_t i = (j * kLanes + lane) * N;
    if (!live || i >= a.width) continue;
    inputs[j] = *reinterpret_cast<const Vec<T, N>*>(x + i);
    if (a.residual != nullptr) residuals[j] = *reinterpret_cast<const Vec<T, N>*>(residual + i);
    if (a.gate != nullptr) gates[j] = *reinterpret_cast<const Vec<T, N>*>(gate + i);
  }
  float value[kItems][N], opened[kItems][N];
  float sum = 0, squares = 0;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int64_t i = (j * kLanes + lane) * N;
    const bool inside = live && i < a.width;
#pragma unroll
    for (int e = 0; e < N; ++e) {
      value[j][e] = inside ? ToFloat(inputs[j].v[e]) : 0.0f;
      if (inside && a.residual != nullptr) value[j][e] += ToFloat(residuals[j].v[e]);
    }
    if (inside && a.sum != nullptr) Store<T, N>(sum_out + i, value[j]);
    if (inside && a.gate != nullptr) {
#pragma unroll
      for (int e = 0; e < N; ++e) opened[j][e] = Silu(ToFloat(gates[j].v[e]));
      if (a.gate_order == GateOrder::kGateFirst) {
#pragma unroll
        for (int e = 0; e < N; ++e) value[j][e] *= opened[j][e];
      }
    }
#pragma unroll
    for (int e = 0; e < N; ++e) {
      sum += value[j][e];
      squares += value[j][e] * value[j][e];
    }
  }
  const auto total = [&](float v) {
    return kLanes <= 32 ? LaneSum(v, kLanes) : BlockSum(v, shared);
  };
  const float width = static_cast<float>(a.width), eps = static_cast<float>(a.eps);
  float shift = 0, factor = 1;
  if (a.op == NormOp::kLayer) {
    shift = total(sum) / width;
    squares = 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      if ((j * kLanes + lane) * N >= a.width) continue;
#pragma unroll
      for (int e = 0; e < N; ++e) squares += (value[j][e] - shift) * (value[j][e] - shift);
    }
    factor = rsqrtf(total(squares) / width + eps);
  } else if (a.op == NormOp::kSum) {
    factor = 1.0f / total(sum);
  } else {
    const float mean = total(squares);
    factor = rsqrtf((a.op == NormOp::kL2 ? mean : mean / width) + eps);
  }
  if (!live) return;
  const float scale = static_cast<float>(a.scale);
  const float extra = a.op == NormOp::kRmsOnePlus ? 1.0f : 0.0f;
  const int64_t parameter = a.weight_per_group ? base : 0;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int64_t i = (j * kLanes + lane) * N;
    if (i >= a.width) continue;
    float weight[N], bias[N];
    if (a.weight != nullptr) LoadParameters<N>(a.weight + parameter + i, weight);
    if (a.bias != nullptr) LoadParameters<N>(a.bias + parameter + i, bias);
#pragma unroll
    for (int e = 0; e < N; ++e) {
      float v = (value[j][e] - shift) * factor;
      if (a.weight != nullptr) v *= weight[e] + extra;
      if (a.bias != nullptr) v += bias[e];
      if (a.gate != nullptr && a.gate_order == GateOrder::kNormFirst) v *= opened[j][e];
      value[j][e] = v * scale;
    }
    Store<T, N>(y + i, value[j]);
  }
}

// Any width and alignment: a block a unit, values read again for every pass.
template <typename T>
__global__ void __launch_bounds__(256) NormAnyKernel(NormArgs a) {
  __shared__ float shared[32];
  const int64_t row = blockIdx.x / a.groups, group = blockIdx.x % a.groups, base = group * a.width;
  const auto* x = static_cast<const T*>(a.x) + row * a.x_stride + base;
  const auto* residual = static_cast<const T*>(a.residual) + row * a.residual_stride + base;
  const auto* gate = static_cast<const T*>(a.gate) + row * a.gate_stride + base;
  const auto value_of = [&](int64_t i) {
    float v = ToFloat(x[i]);
    if (a.residual != nullptr) v += ToFloat(residual[i]);
    if (a.gate != nullptr && a.gate_order == GateOrder::kGateFirst) v *= Silu(ToFloat(gate[i]));
    return v;
  };
  float sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    const float v = value_of(i);
    sum += v;
    squares += v * v;
  }
  const float width = static_cast<float>(a.width), eps = static_cast<float>(a.eps);
  float shift = 0, factor = 1;
  if (a.op == NormOp::kLayer) {
    shift = BlockSum(sum, shared) / width;
    squares = 0;
    for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
      const float v = value_of(i) - shift;
      squares += v * v;
    }
    factor = rsqrtf(BlockSum(squares, shared) / width + eps);
  } else if (a.op == NormOp::kSum) {
    factor = 1.0f / BlockSum(sum, shared);
  } else {
    const float total = BlockSum(squares, shared);
    factor = rsqrtf((a.op == NormOp::kL2 ? total : total / width) + eps);
  }
  const float extra = a.op == NormOp::kRmsOnePlus ? 1.0f : 0.0f;
  const int64_t parameter = a.weight_per_group ? base : 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    if (a.sum != nullptr) {
      float v = ToFloat(x[i]);
      if (a.residual != nullptr) v += ToFloat(residual[i]);
      static_cast<T*>(a.sum)[row * a.groups * a.width + base + i] = FromFloat<T>(v);
    }
    float v = (value_of(i) - shift) * factor;
    if (a.weight != nullptr) v *= a.weight[parameter + i] + extra;
    if (a.bias != nullptr) v += a.bias[parameter + i];
    if (a.gate != nullptr && a.gate_order == GateOrder::kNormFirst) v *= Silu(ToFloat(gate[i]));
    static_cast<T*>(a.y)[row * a.y_stride + base + i] =
        FromFloat<T>(v * static_cast<float>(a.scale));
  }
}

template <typename T, int N>
void Launch(const NormArgs& a, bool vectors, cudaStream_t stream) {
  const int64_t units = a.rows * a.groups;
  const auto blocks = [&](int64_t each) { return static_cast<unsigned>(CeilDiv(units, each)); };
  if (!vectors || a.width > 2048 * N) {
    NormAnyKernel<T><<<blocks(1), 256, 0, stream>>>(a);
  } else if (a.width <= 8 * N) {
    NormKernel<T, N, 8, 1><<<blocks(32), 256, 0, stream>>>(a);
  } else if (a.width <= 16 * N) {
    NormKernel<T, N, 16, 1><<<blocks(16), 256, 0, stream>>>(a);
  } else if (a.width <= 32 * N) {
    NormKernel<T, N, 32, 1><<<blocks(8), 256, 0, stream>>>(a);
  } else if (a.width <= 64 * N) {
    NormKernel<T, N, 32, 2><<<blocks(8), 256, 0, stream>>>(a);
  } else if (a.width <= 128 * N) {
    NormKernel<T, N, 32, 4><<<blocks(8), 256, 0, stream>>>(a);
  } else if (a.width <= 512 * N) {
    NormKernel<T, N, 256, 2><<<blocks(1), 256, 0, stream>>>(a);
  } else {
    NormKernel<T, N, 256, 8><<<blocks(1), 256, 0, stream>>>(a);
  }
  CheckLaunch("norm");
}

// A half warp a unit.
template <typename T, int N>
__global__ void __launch_bounds__(256) MergeKernel(MergeNormArgs a) {
  constexpr int kLanes = 16;
  const int64_t unit = blockIdx.x * int64_t{256 / kLanes} + threadIdx.x / kLanes;
  const bool live = unit < a.rows * a.groups;
  const int lane = threadIdx.x % kLanes;
  const int64_t row = live ? unit / a.groups : 0, group = live ? unit % a.groups : 0;
  const int64_t start = (row * a.groups + group) * a.width;
  const auto* delta = static_cast<const T*>(a.delta) + start;
  const auto* attention = static_cast<const T*>(a.attention) + start;
  const auto* gate = static_cast<const T*>(a.gate) + row * a.gate_stride + group * a.width;
  float squares1 = 0, squares2 = 0;
  for (int64_t i = lane * N; live && i < a.width; i += kLanes * N) {
    float x1[N], x2[N];
    Load<T, N>(delta + i, x1);
    Load<T, N>(attention + i, x2);
#pragma unroll
    for (int e = 0; e < N; ++e) {
      squares1 += x1[e] * x1[e];
      squares2 += x2[e] * x2[e];
    }
  }
  const float width = static_cast<float>(a.width), eps = static_cast<float>(a.eps);
  float factor1 = rsqrtf(LaneSum(squares1, kLanes) / width + eps);
  float factor2 = rsqrtf(LaneSum(squares2, kLanes) / width + eps);
  if (!live) return;
  factor1 *= a.mix[(row * a.groups + group) * 2];
  factor2 *= a.mix[(row * a.groups + group) * 2 + 1];
  for (int64_t i = lane * N; i < a.width; i += kLanes * N) {
    float x1[N], x2[N], g[N];
    Load<T, N>(delta + i, x1);
    Load<T, N>(attention + i, x2);
    Load<T, N>(gate + i, g);
#pragma unroll
    for (int e = 0; e < N; ++e) {
      x1[e] =
          (factor1 * x1[e] * a.delta_weight[i + e] + factor2 * x2[e] * a.attention_weight[i + e]) *
          Silu(g[e]);
    }
    Store<T, N>(static_cast<T*>(a.y) + start + i, x1);
  }
}

}  // namespace

void RunNorm(const NormArgs& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  const int64_t bytes = core::ByteSize(a.dtype), n = 16 / bytes, columns = a.groups * a.width;
  const bool vectors =
      a.width % n == 0 && Aligned(a.x, a.x_stride, bytes) && Aligned(a.y, a.y_stride, bytes) &&
      Aligned(a.residual, a.residual_stride, bytes) && Aligned(a.gate, a.gate_stride, bytes) &&
      Aligned(a.sum, columns, bytes) && Aligned(a.weight, 0, 4) && Aligned(a.bias, 0, 4);
  Require(a.rows * a.groups < (int64_t{1} << 31), "norm: too many rows");
  if (a.dtype == DType::kBFloat16) {
    Launch<bf16, 8>(a, vectors, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "norm: dtype isn't float32 or bfloat16");
    Launch<float, 4>(a, vectors, stream);
  }
}

void RunMergeNorm(const MergeNormArgs& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  const int64_t bytes = core::ByteSize(a.dtype), n = 16 / bytes;
  const bool vectors = a.width % n == 0 && Aligned(a.delta, 0, bytes) && Aligned(a.y, 0, bytes) &&
                       Aligned(a.attention, 0, bytes) && Aligned(a.gate, a.gate_stride, bytes) &&
                       Aligned(a.delta_weight, 0, 4) && Aligned(a.attention_weight, 0, 4);
  const auto blocks = static_cast<unsigned>(CeilDiv(a.rows * a.groups, 16));
  if (a.dtype == DType::kBFloat16) {
    if (vectors) {
      MergeKernel<bf16, 8><<<blocks, 256, 0, stream>>>(a);
    } else {
      MergeKernel<bf16, 1><<<blocks, 256, 0, stream>>>(a);
    }
  } else {
    Require(a.dtype == DType::kFloat32, "merge norm: dtype isn't float32 or bfloat16");
    if (vectors) {
      MergeKernel<float, 4><<<blocks, 256, 0, stream>>>(a);
    } else {
      MergeKernel<float, 1><<<blocks, 256, 0, stream>>>(a);
    }
  }
  CheckLaunch("merge norm");
}

}  // namespace natsl::kernels::cuda
