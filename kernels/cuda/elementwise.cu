// Activations, gates, decays and rotary embedding.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/elementwise.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Calls body(row, first column) once for every N columns of every row.
template <int N, typename Body>
__global__ void __launch_bounds__(kThreads) RowsKernel(int64_t rows, int64_t columns, Body body) {
  const uint32_t per_row = static_cast<uint32_t>(columns / N);
  const int64_t total = rows * per_row;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < total; i += step) {
    int64_t row, column;
    if (total <= 0xffffffffu) {
      const auto small = static_cast<uint32_t>(i);
      row = small / per_row;
      column = small % per_row;
    } else {
      row = i / per_row;
      column = i % per_row;
    }
    body(row, column * N);
  }
}

template <int N, typename Body>
void OverRows(int64_t rows, int64_t columns, const char* what, cudaStream_t stream, Body body) {
  if (rows == 0 || columns == 0) return;
  const int64_t blocks = CeilDiv(rows * (columns / N), kThreads);
  RowsKernel<N>
      <<<static_cast<unsigned>(blocks < (1 << 30) ? blocks : (1 << 30)), kThreads, 0, stream>>>(
          rows, columns, body);
  CheckLaunch(what);
}

__device__ float Apply(Unary op, float x) {
  switch (op) {
    case Unary::kIdentity:
      return x;
    case Unary::kSilu:
      return Silu(x);
    case Unary::kRelu:
      return AtLeast(x, 0.0f);
    case Unary::kSquaredRelu: {
      const float r = AtLeast(x, 0.0f);
      return r * r;
    }
    case Unary::kSigmoid:
      return Sigmoid(x);
    case Unary::kTanh:
      return tanhf(x);
    case Unary::kGeluTanh:
      return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    case Unary::kGelu:
      return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case Unary::kLogSigmoid:
      return LogSigmoid(x);
    case Unary::kEluPlusOne:
      return x > 0.0f ? x + 1.0f : expf(x);
    case Unary::kNegativeExp:
      return -expf(x);
  }
  return x;
}

template <typename In, typename Out, int N>
void Activation(const ActivationArgs& a, cudaStream_t stream) {
  OverRows<N>(a.rows, a.columns, "activation", stream, [a] __device__(int64_t row, int64_t column) {
    float x[N];
    Load<In, N>(static_cast<const In*>(a.x) + row * a.x_stride + column, x);
    if (a.bias != nullptr) {
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] += a.bias[column + e];
    }
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = Apply(a.activation, x[e]);
    if (a.factor != nullptr) {
      float f[N];
      Load<In, N>(static_cast<const In*>(a.factor) + row * a.factor_stride + column, f);
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] *= f[e];
    }
#pragma unroll
    for (int e = 0; e < N; ++e) {
      x[e] = AtLeast(x[e] * static_cast<float>(a.scale), static_cast<float>(a.minimum));
    }
    Store<Out, N>(static_cast<Out*>(a.y) + row * a.y_stride + column, x);
  });
}

template <typename T, int N>
void Combine(const CombineArgs& a, cudaStream_t stream) {
  OverRows<N>(a.rows, a.columns, "combine", stream, [a] __device__(int64_t row, int64_t column) {
    float x[N], z[N], c[N];
    Load<T, N>(static_cast<const T*>(a.x) + row * a.x_stride + column, x);
    Load<T, N>(static_cast<const T*>(a.z) + row * a.z_stride + column, z);
    if (a.coefficients != nullptr) {
      Load<T, N>(static_cast<const T*>(a.coefficients) + row * a.coefficients_stride + column, c);
    }
#pragma unroll
    for (int e = 0; e < N; ++e) {
      if (a.coefficients == nullptr && a.mix == nullptr) {
        x[e] = static_cast<float>(a.a) * x[e] + static_cast<float>(a.b) * z[e];
      } else {
        const float mix = (a.coefficients != nullptr ? c[e] : 0.0f) +
                          (a.mix != nullptr ? a.mix[column + e] : 0.0f);
        x[e] += mix * z[e];
      }
    }
    Store<T, N>(static_cast<T*>(a.y) + row * a.y_stride + column, x);
  });
}

template <typename T>
void DeltaGates(const DeltaGateArgs& a, cudaStream_t stream) {
  OverRows<1>(a.rows, a.heads, "delta gates", stream, [a] __device__(int64_t row, int64_t head) {
    if (a.a != nullptr) {
      const float x = ToFloat(static_cast<const T*>(a.a)[row * a.a_stride + head]);
      a.g[row * a.heads + head] = a.negative_a[head] * Softplus(x + a.dt_bias[head]);
    }
    if (a.b != nullptr) {
      const float x = ToFloat(static_cast<const T*>(a.b)[row * a.b_stride + head]);
      a.beta[row * a.heads + head] = static_cast<float>(a.beta_scale) * Sigmoid(x);
    }
  });
}

// log(L + (1 - L) sigma(f)) = logaddexp(log L, log1p(-L) + logsigmoid(f)).
__device__ float LogForget(float f, float bound) {
  const float open = log1pf(-bound) + LogSigmoid(f);
  if (bound <= 0.0f) return open;
  const float low = logf(bound);
  return fmaxf(low, open) + log1pf(expf(-fabsf(low - open)));
}

template <typename T, int N>
void ForgetGate(const ForgetGateArgs& a, cudaStream_t stream) {
  OverRows<N>(a.rows, a.columns, "forget gate", stream,
              [a] __device__(int64_t row, int64_t column) {
                float f[N], x[N];
                Load<T, N>(static_cast<const T*>(a.f) + row * a.f_stride + column, f);
                if (a.x != nullptr)
                  Load<T, N>(static_cast<const T*>(a.x) + row * a.x_stride + column, x);
#pragma unroll
                for (int e = 0; e < N; ++e) {
                  f[e] = LogForget(f[e], a.bound == nullptr ? 0.0f : a.bound[column + e]);
                  const float open = -expm1f(f[e]);
                  x[e] = a.x != nullptr ? Silu(x[e]) * open : open;
                }
#pragma unroll
                for (int e = 0; e < N; ++e) a.g[row * a.columns + column + e] = f[e];
                Store<T, N>(static_cast<T*>(a.open) + row * a.columns + column, x);
              });
}

template <typename T, int N>
void Mamba2Gates(const Mamba2GateArgs& a, cudaStream_t stream) {
  OverRows<N>(a.rows, a.heads * a.head_dim, "mamba2 gates", stream,
              [a] __device__(int64_t row, int64_t column) {
                const int64_t head = column / a.head_dim;
                const float raw = ToFloat(static_cast<const T*>(a.raw)[row * a.raw_stride + head]);
                const float dt =
                    AtMost(AtLeast(Softplus(raw + a.dt_bias[head]), static_cast<float>(a.minimum)),
                           static_cast<float>(a.maximum));
                if (column % a.head_dim == 0) {
                  a.g[row * a.heads + head] = dt * a.negative_a[head];
                }
                float x[N];
                Load<T, N>(static_cast<const T*>(a.x) + row * a.x_stride + column, x);
#pragma unroll
                for (int e = 0; e < N; ++e) x[e] *= dt;
                Store<T, N>(static_cast<T*>(a.v) + row * a.heads * a.head_dim + column, x);
              });
}

template <typename T, int N>
void Skip(const SkipArgs& a, cudaStream_t stream) {
  OverRows<N>(a.rows, a.heads * a.head_dim, "skip", stream,
              [a] __device__(int64_t row, int64_t column) {
                T* at = static_cast<T*>(a.y) + row * a.heads * a.head_dim + column;
                float x[N], y[N];
                Load<T, N>(static_cast<const T*>(a.x) + row * a.x_stride + column, x);
                Load<T, N>(at, y);
#pragma unroll
                for (int e = 0; e < N; ++e) {
                  y[e] += x[e] * a.skip[a.skip_per_channel ? column + e : column / a.head_dim];
                }
                Store<T, N>(at, y);
              });
}

template <typename T>
void PairSoftmax(const PairSoftmaxArgs& a, cudaStream_t stream) {
  OverRows<1>(a.rows, a.pairs, "pair softmax", stream, [a] __device__(int64_t row, int64_t pair) {
    const T* at = static_cast<const T*>(a.logits) + row * a.logits_stride + 2 * pair;
    const float first = 1.0f / (1.0f + expf(ToFloat(at[1]) - ToFloat(at[0])));
    a.mix[(row * a.pairs + pair) * 2] = ToFloat(FromFloat<T>(first));
    a.mix[(row * a.pairs + pair) * 2 + 1] =
        ToFloat(FromFloat<T>(1.0f / (1.0f + expf(ToFloat(at[0]) - ToFloat(at[1])))));
  });
}

// A thread rotates the same channels of all heads: their sines are the same.
template <typename T, int N>
void Rope(const RopeArgs& a, cudaStream_t stream) {
  const int64_t half = a.dims / 2;
  OverRows<N>(a.tokens, half, "rope", stream, [a, half] __device__(int64_t row, int64_t channel) {
    float sine[N], cosine[N];
#pragma unroll
    for (int e = 0; e < N; ++e) {
      const float angle = static_cast<float>(a.positions[row]) * a.inverse_frequencies[channel + e];
      sincosf(angle, &sine[e], &cosine[e]);
      // The tables are rounded to the activations' type, as in the reference implementations.
      sine[e] = ToFloat(FromFloat<T>(sine[e] * static_cast<float>(a.attention_factor)));
      cosine[e] = ToFloat(FromFloat<T>(cosine[e] * static_cast<float>(a.attention_factor)));
    }
    T* x = static_cast<T*>(a.x) + row * a.x_stride + channel;
#pragma unroll 4
    for (int64_t head = 0; head < a.heads; ++head, x += a.head_dim) {
      float x0[N], x1[N];
      Load<T, N>(x, x0);
      Load<T, N>(x + half, x1);
      float y0[N], y1[N];
#pragma unroll
      for (int e = 0; e < N; ++e) {
        y0[e] = x0[e] * cosine[e] - x1[e] * sine[e];
        y1[e] = x0[e] * sine[e] + x1[e] * cosine[e];
      }
      Store<T, N>(x, y0);
      Store<T, N>(x + half, y1);
    }
  });
}

bool IsBFloat16(DType dtype) {
  Require(dtype == DType::kBFloat16 || dtype == DType::kFloat32,
          "elementwise: dtype isn't float32 or bfloat16");
  return dtype == DType::kBFloat16;
}

bool Fits(const void* p, int64_t stride, DType dtype) {
  return Aligned(p, stride, core::ByteSize(dtype));
}

}  // namespace

void RunActivation(const ActivationArgs& a, cudaStream_t stream) {
  const bool in16 = IsBFloat16(a.dtype), out16 = IsBFloat16(a.output_dtype);
  const bool vectors = a.columns % 8 == 0 && Fits(a.x, a.x_stride, a.dtype) &&
                       Fits(a.factor, a.factor_stride, a.dtype) &&
                       Fits(a.y, a.y_stride, a.output_dtype);
  if (in16 && out16) {
    vectors ? Activation<bf16, bf16, 8>(a, stream) : Activation<bf16, bf16, 1>(a, stream);
  } else if (in16) {
    vectors ? Activation<bf16, float, 4>(a, stream) : Activation<bf16, float, 1>(a, stream);
  } else {
    Require(!out16, "activation: float32 in, bfloat16 out isn't supported");
    vectors ? Activation<float, float, 4>(a, stream) : Activation<float, float, 1>(a, stream);
  }
}

void RunCombine(const CombineArgs& a, cudaStream_t stream) {
  const bool vectors = a.columns % 8 == 0 && Fits(a.x, a.x_stride, a.dtype) &&
                       Fits(a.z, a.z_stride, a.dtype) && Fits(a.y, a.y_stride, a.dtype) &&
                       Fits(a.coefficients, a.coefficients_stride, a.dtype);
  if (IsBFloat16(a.dtype)) {
    vectors ? Combine<bf16, 8>(a, stream) : Combine<bf16, 1>(a, stream);
  } else {
    vectors ? Combine<float, 4>(a, stream) : Combine<float, 1>(a, stream);
  }
}

void RunDeltaGates(const DeltaGateArgs& a, cudaStream_t stream) {
  IsBFloat16(a.dtype) ? DeltaGates<bf16>(a, stream) : DeltaGates<float>(a, stream);
}

void RunForgetGate(const ForgetGateArgs& a, cudaStream_t stream) {
  const bool vectors = a.columns % 8 == 0 && Fits(a.f, a.f_stride, a.dtype) &&
                       Fits(a.x, a.x_stride, a.dtype) && Fits(a.open, a.columns, a.dtype);
  if (IsBFloat16(a.dtype)) {
    vectors ? ForgetGate<bf16, 4>(a, stream) : ForgetGate<bf16, 1>(a, stream);
  } else {
    vectors ? ForgetGate<float, 4>(a, stream) : ForgetGate<float, 1>(a, stream);
  }
}

void RunMamba2Gates(const Mamba2GateArgs& a, cudaStream_t stream) {
  const bool vectors =
      a.head_dim % 8 == 0 && Fits(a.x, a.x_stride, a.dtype) && Fits(a.v, 8, a.dtype);
  if (IsBFloat16(a.dtype)) {
    vectors ? Mamba2Gates<bf16, 8>(a, stream) : Mamba2Gates<bf16, 1>(a, stream);
  } else {
    vectors ? Mamba2Gates<float, 4>(a, stream) : Mamba2Gates<float, 1>(a, stream);
  }
}

void RunSkip(const SkipArgs& a, cudaStream_t stream) {
  const bool vectors =
      a.head_dim % 8 == 0 && Fits(a.x, a.x_stride, a.dtype) && Fits(a.y, 8, a.dtype);
  if (IsBFloat16(a.dtype)) {
    vectors ? Skip<bf16, 8>(a, stream) : Skip<bf16, 1>(a, stream);
  } else {
    vectors ? Skip<float, 4>(a, stream) : Skip<float, 1>(a, stream);
  }
}

void RunPairSoftmax(const PairSoftmaxArgs& a, cudaStream_t stream) {
  IsBFloat16(a.dtype) ? PairSoftmax<bf16>(a, stream) : PairSoftmax<float>(a, stream);
}

void RunRope(const RopeArgs& a, cudaStream_t stream) {
  const bool half = IsBFloat16(a.dtype);
  const int64_t n = half ? 8 : 4;
  // Few rows rather have a thread a channel.
  const bool vectors = a.tokens >= 256 && a.dims / 2 % n == 0 && a.head_dim % n == 0 &&
                       Fits(a.x, a.x_stride, a.dtype);
  if (half) {
    vectors ? Rope<bf16, 8>(a, stream) : Rope<bf16, 1>(a, stream);
  } else {
    vectors ? Rope<float, 4>(a, stream) : Rope<float, 1>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
