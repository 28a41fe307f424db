// Short convolution and token shift. A thread owns N channels of a strip of rows and keeps the
// window in registers; tails are updated by a second launch, after every strip has read them.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/short_conv.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kStrip = 64;  // rows of a thread
constexpr int kAhead = 8;   // rows loaded at once
constexpr int kTaps = 4;    // largest width

// The raw input of row `row` of sequence s (rows before its first come from the tail).
template <typename T, int N>
__device__ void Input(const ShortConvArgs& a, int64_t s, int64_t begin, int64_t row, int64_t column,
                      float (&x)[N]) {
  if (row >= begin) {
    Load<T, N>(static_cast<const T*>(a.x) + row * a.x_stride + column, x);
    return;
  }
  const int64_t slot = ReadSlot(a.slots, s), age = begin - row;  // 1: the newest of the tail
  if (slot < 0) {
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] = 0;
    return;
  }
  const float* tail = a.tails + (slot * (a.width - 1) + a.width - 1 - age) * a.channels + column;
#pragma unroll
  for (int e = 0; e < N; ++e) x[e] = tail[e];
}

template <typename T, int N>
__global__ void __launch_bounds__(kThreads) ConvKernel(ShortConvArgs a) {
  const int64_t column = (blockIdx.y * int64_t{kThreads} + threadIdx.x) * N;
  if (column >= a.channels) return;
  const int64_t first = blockIdx.x * int64_t{kStrip};
  const int64_t last = min(a.tokens, first + kStrip);
  const int width = static_cast<int>(a.width);
  float weight[kTaps][N], bias[N];  // tap j multiplies the input j rows back
#pragma unroll
  for (int e = 0; e < N; ++e) {
    if (width == kTaps) {  // 16 bytes at once: device memory is aligned to it
      const auto taps = *reinterpret_cast<const float4*>(a.weight + (column + e) * kTaps);
      weight[0][e] = taps.w;
      weight[1][e] = taps.z;
      weight[2][e] = taps.y;
      weight[3][e] = taps.x;
    } else {
#pragma unroll
      for (int j = 0; j < kTaps; ++j) {
        weight[j][e] = j < width ? a.weight[(column + e) * width + width - 1 - j] : 0.0f;
      }
    }
  }
#pragma unroll
  for (int e = 0; e < N; ++e) bias[e] = a.bias == nullptr ? 0.0f : a.bias[column + e];

  int64_t s = SequenceOf(a.offsets, a.sequences, first);
  int64_t begin = a.offsets[s], end = a.offsets[s + 1];
  float window[kTaps][N];
  const auto fill = [&](int64_t row) {
#pragma unroll
    for (int j = 1; j < kTaps; ++j) {
      if (j < width) {
        Input<T, N>(a, s, begin, row - j, column, window[j]);
      } else {
#pragma unroll
        for (int e = 0; e < N; ++e) window[j][e] = 0;
      }
    }
  };
  fill(first);
  const auto step = [&](int64_t row, const float(&x)[N]) {
    float y[N];
#pragma unroll
    for (int e = 0; e < N; ++e) {
      float sum = bias[e] + weight[0][e] * x[e];
#pragma unroll
      for (int j = kTaps - 1; j > 0; --j) sum += weight[j][e] * window[j][e];
      y[e] = a.activation == ActivationKind::kSilu ? Silu(sum) : sum;
#pragma unroll
      for (int j = kTaps - 1; j > 1; --j) window[j][e] = window[j - 1][e];
      window[1][e] = x[e];
    }
    Store<T, N>(static_cast<T*>(a.y) + row * a.y_stride + column, y);
  };
  const T* x = static_cast<const T*>(a.x) + column;
  for (int64_t row = first; row < last;) {
    if (row == end) {
      do {
        ++s;
      } while (a.offsets[s + 1] == row);
      begin = row;
      end = a.offsets[s + 1];
      fill(row);
    }
    const int64_t stop = min(last, end);
    for (; row + kAhead <= stop; row += kAhead) {
      Vec<T, N> rows[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        rows[i] = *reinterpret_cast<const Vec<T, N>*>(x + (row + i) * a.x_stride);
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        float values[N];
#pragma unroll
        for (int e = 0; e < N; ++e) values[e] = ToFloat(rows[i].v[e]);
        step(row + i, values);
      }
    }
    for (; row < stop; ++row) {
      float values[N];
      Load<T, N>(x + row * a.x_stride, values);
      step(row, values);
    }
  }
}

// A thread a channel: the tail after the batch.
template <typename T>
__global__ void __launch_bounds__(kThreads) TailKernel(ShortConvArgs a) {
  const int64_t s = blockIdx.x;
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  const int64_t slot = WriteSlot(a.slots, s);
  const int64_t begin = a.offsets[s], end = a.offsets[s + 1];
  if (column >= a.channels || slot < 0 || begin == end) return;
  float tail[kTaps];
#pragma unroll
  for (int j = 0; j < kTaps - 1; ++j) {
    float x[1];
    if (j < a.width - 1) {
      Input<T, 1>(a, s, begin, end - (a.width - 1) + j, column, x);
      tail[j] = x[0];
    }
  }
#pragma unroll
  for (int j = 0; j < kTaps - 1; ++j) {
    if (j < a.width - 1) a.tails[(slot * (a.width - 1) + j) * a.channels + column] = tail[j];
  }
}

// One row a sequence; the tail is read and updated at once.
template <typename T>
__global__ void __launch_bounds__(kThreads) StepKernel(ShortConvArgs a) {
  const int64_t s = blockIdx.x;
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (column >= a.channels) return;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  const int width = static_cast<int>(a.width);
  float window[kTaps];
#pragma unroll
  for (int j = 0; j < kTaps - 1; ++j) {
    window[j] =
        j < width - 1 && from >= 0 ? a.tails[(from * (width - 1) + j) * a.channels + column] : 0.0f;
  }
  const float x = ToFloat(static_cast<const T*>(a.x)[s * a.x_stride + column]);
  float sum = a.bias == nullptr ? 0.0f : a.bias[column];
#pragma unroll
  for (int j = 0; j < kTaps - 1; ++j) {
    if (j < width - 1) sum += a.weight[column * width + j] * window[j];
  }
  sum += a.weight[column * width + width - 1] * x;
  static_cast<T*>(a.y)[s * a.y_stride + column] =
      FromFloat<T>(a.activation == ActivationKind::kSilu ? Silu(sum) : sum);
  if (to < 0) return;
#pragma unroll
  for (int j = 0; j < kTaps - 1; ++j) {
    if (j < width - 1) {
      a.tails[(to * (width - 1) + j) * a.channels + column] =
          j + 1 < width - 1 ? window[j + 1 < kTaps ? j + 1 : j] : x;
    }
  }
}

template <typename T, int N>
void Launch(const ShortConvArgs& a, bool vectors, cudaStream_t stream) {
  const auto columns = static_cast<unsigned>(CeilDiv(a.channels, kThreads));
  const auto sequences = static_cast<unsigned>(a.sequences);
  if (a.offsets == nullptr) {
    StepKernel<T><<<dim3(sequences, columns), kThreads, 0, stream>>>(a);
  } else {
    const auto strips = static_cast<unsigned>(CeilDiv(a.tokens, kStrip));
    if (vectors) {
      const auto groups = static_cast<unsigned>(CeilDiv(a.channels, kThreads * N));
      ConvKernel<T, N><<<dim3(strips, groups), kThreads, 0, stream>>>(a);
    } else {
      ConvKernel<T, 1><<<dim3(strips, columns), kThreads, 0, stream>>>(a);
    }
    if (a.tails != nullptr && a.width > 1) {
      TailKernel<T><<<dim3(sequences, columns), kThreads, 0, stream>>>(a);
    }
  }
  CheckLaunch("short convolution");
}

template <typename T>
__global__ void __launch_bounds__(kThreads) ShiftKernel(TokenShiftArgs a) {
  const int64_t row = blockIdx.x;
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (column >= a.channels) return;
  const auto* x = static_cast<const T*>(a.x);
  const int64_t s = SequenceOf(a.offsets, a.sequences, row);
  const int64_t begin = a.offsets == nullptr ? row : a.offsets[s];
  float previous = 0;
  const float current = ToFloat(x[row * a.x_stride + column]);
  if (row > begin) {
    previous = ToFloat(x[(row - 1) * a.x_stride + column]);
  } else if (const int64_t slot = ReadSlot(a.slots, s); slot >= 0) {
    previous = a.tails[slot * a.channels + column];
  }
  static_cast<T*>(a.difference)[row * a.channels + column] = FromFloat<T>(previous - current);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) ShiftTailKernel(TokenShiftArgs a) {
  const int64_t s = blockIdx.x, slot = WriteSlot(a.slots, s);
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  const int64_t begin = a.offsets == nullptr ? s : a.offsets[s];
  const int64_t end = a.offsets == nullptr ? s + 1 : a.offsets[s + 1];
  if (column >= a.channels || slot < 0 || begin == end) return;
  a.tails[slot * a.channels + column] =
      ToFloat(static_cast<const T*>(a.x)[(end - 1) * a.x_stride + column]);
}

}  // namespace

void RunShortConv(const ShortConvArgs& a, cudaStream_t stream) {
  Require(a.width >= 1 && a.width <= kTaps, "short convolution: width isn't 1 to 4");
  if (a.sequences == 0 || (a.offsets != nullptr && a.tokens == 0)) return;
  const int64_t bytes = core::ByteSize(a.dtype), n = 16 / bytes;
  const bool vectors =
      a.channels % n == 0 && Aligned(a.x, a.x_stride, bytes) && Aligned(a.y, a.y_stride, bytes);
  if (a.dtype == DType::kBFloat16) {
    Launch<bf16, 8>(a, vectors, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "short convolution: dtype isn't float32 or bfloat16");
    Launch<float, 4>(a, vectors, stream);
  }
}

void RunTokenShift(const TokenShiftArgs& a, cudaStream_t stream) {
  const int64_t rows = a.offsets == nullptr ? a.sequences : a.tokens;
  if (rows == 0) return;
  const auto columns = static_cast<unsigned>(CeilDiv(a.channels, kThreads));
  const dim3 grid(static_cast<unsigned>(rows), columns);
  const dim3 tails(static_cast<unsigned>(a.sequences), columns);
  if (a.dtype == DType::kBFloat16) {
    ShiftKernel<bf16><<<grid, kThreads, 0, stream>>>(a);
    ShiftTailKernel<bf16><<<tails, kThreads, 0, stream>>>(a);
  } else {
    Require(a.dtype == DType::kFloat32, "token shift: dtype isn't float32 or bfloat16");
    ShiftKernel<float><<<grid, kThreads, 0, stream>>>(a);
    ShiftTailKernel<float><<<tails, kThreads, 0, stream>>>(a);
  }
  CheckLaunch("token shift");
}

}  // namespace natsl::kernels::cuda
