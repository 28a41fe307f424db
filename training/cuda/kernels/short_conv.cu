// A thread walks over a run of tokens with a vector of channels: every input is read once.
#include "kernels/cuda/device.cuh"
#include "training/cuda/kernels/fused.h"

namespace natsl::training::cuda {
namespace {

using kernels::cuda::Aligned;
using kernels::cuda::bf16;
using kernels::cuda::CeilDiv;
using kernels::cuda::CheckLaunch;
using kernels::cuda::Load;
using kernels::cuda::Sigmoid;
using kernels::cuda::Store;

constexpr int kTaps = 4, kThreads = 128, kRun = 64;

template <typename T>
constexpr int kVector = 16 / sizeof(T);

// The last four inputs of N channels, newest last.
template <int N>
struct Window {
  float x[kTaps][N];

  __device__ void Shift() {
#pragma unroll
    for (int j = 0; j + 1 < kTaps; ++j) {
#pragma unroll
      for (int i = 0; i < N; ++i) x[j][i] = x[j + 1][i];
    }
  }
};

template <int N>
__device__ void Zero(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = 0;
}

template <int N>
__device__ float Sum(const Window<N>& window, const float (&taps)[kTaps][N], int i) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kTaps; ++j) sum = fmaf(taps[j][i], window.x[j][i], sum);
  return sum;
}

// What a thread works on: channels [channel, channel + N) of tokens [begin, end) of a sequence.
template <typename T>
struct Work {
  static constexpr int N = kVector<T>;
  int64_t channel, begin, end;
  const T* x;       // the sequence's first token, at `channel`
  int64_t row = 0;  // index of the sequence's first token
  float taps[kTaps][N];
  Window<N> window;  // the three inputs before `begin`

  __device__ bool Start(const ConvArgs& args, int64_t runs) {
    channel = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * N;
    if (channel >= args.channels) return false;
    const int64_t sequence = blockIdx.y / runs;
    begin = blockIdx.y % runs * kRun;
    end = begin + kRun < args.tokens ? begin + kRun : args.tokens;
    x = static_cast<const T*>(args.x) + sequence * args.x_batch_stride + channel;
    row = sequence * args.tokens;
#pragma unroll
    for (int j = 0; j < kTaps; ++j) {
      Load<T, N>(static_cast<const T*>(args.taps) + j * args.channels + channel, taps[j]);
    }
    Zero(window.x[0]);
#pragma unroll
    for (int j = 1; j < kTaps; ++j) Read(args, begin - kTaps + j, window.x[j]);
    return true;
  }

  __device__ void Read(const ConvArgs& args, int64_t t, float (&out)[N]) const {
    if (t >= 0 && t < args.tokens) {
      Load<T, N>(x + t * args.x_stride, out);
    } else {
      Zero(out);
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) ConvKernel(ConvArgs args, int64_t runs) {
  constexpr int N = kVector<T>;
  Work<T> work;
  if (!work.Start(args, runs)) return;
  T* y = static_cast<T*>(args.y) + work.row * args.channels + work.channel;
#pragma unroll 4
  for (int64_t t = work.begin; t < work.end; ++t) {
    work.window.Shift();
    work.Read(args, t, work.window.x[kTaps - 1]);
    float out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float sum = Sum(work.window, work.taps, i);
      out[i] = args.silu ? sum * Sigmoid(sum) : sum;
    }
    Store<T, N>(y + t * args.channels, out);
  }
}

// The gradient of x_t wants those of y_t ... y_{t+3}: a run reads three tokens beyond its end.
template <typename T>
__global__ void __launch_bounds__(kThreads) ConvGradientKernel(ConvArgs args, int64_t runs) {
  constexpr int N = kVector<T>;
  Work<T> work;
  if (!work.Start(args, runs)) return;
  const int64_t offset = work.row * args.channels + work.channel;
  const T* y_gradient = static_cast<const T*>(args.y_gradient) + offset;
  T* x_gradient = static_cast<T*>(args.x_gradient) + offset;
  Window<N> sums;  // gradients before the activation, newest last
  float taps[kTaps][N];
#pragma unroll
  for (int j = 0; j < kTaps; ++j) {
    Zero(sums.x[j]);
    Zero(taps[j]);
  }
  for (int64_t t = work.begin; t < work.end + kTaps - 1; ++t) {
    work.window.Shift();
    work.Read(args, t, work.window.x[kTaps - 1]);
    sums.Shift();
    Zero(sums.x[kTaps - 1]);
    if (t < args.tokens) {
      float gradient[N];
      Load<T, N>(y_gradient + t * args.channels, gradient);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        float factor = 1;
        if (args.silu) {
          const float sum = Sum(work.window, work.taps, i), gate = Sigmoid(sum);
          factor = gate * (1 + sum * (1 - gate));
        }
        sums.x[kTaps - 1][i] = gradient[i] * factor;
      }
      if (t < work.end) {
#pragma unroll
        for (int j = 0; j < kTaps; ++j) {
#pragma unroll
          for (int i = 0; i < N; ++i) {
            taps[j][i] = fmaf(sums.x[kTaps - 1][i], work.window.x[j][i], taps[j][i]);
          }
        }
      }
    }
    const int64_t target = t - (kTaps - 1);
    if (target < work.begin) continue;
    float out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kTaps; ++j) {
        sum = fmaf(work.taps[j][i], sums.x[kTaps - 1 - j][i], sum);
      }
      out[i] = sum;
    }
    Store<T, N>(x_gradient + target * args.channels, out);
  }
  float* partial = args.taps_gradient + int64_t{blockIdx.y} * kTaps * args.channels;
#pragma unroll
  for (int j = 0; j < kTaps; ++j) {
    for (int i = 0; i < N; ++i) partial[j * args.channels + work.channel + i] = taps[j][i];
  }
}

template <typename T>
void Launch(const ConvArgs& args, cudaStream_t stream) {
  const int64_t runs = CeilDiv(args.tokens, kRun);
  const dim3 grid(static_cast<unsigned>(CeilDiv(args.channels, kThreads * kVector<T>)),
                  static_cast<unsigned>(args.batch * runs));
  if (args.y_gradient == nullptr) {
    ConvKernel<T><<<grid, kThreads, 0, stream>>>(args, runs);
  } else {
    ConvGradientKernel<T><<<grid, kThreads, 0, stream>>>(args, runs);
  }
  CheckLaunch("training: short convolution");
}

}  // namespace

bool ConvIsSupported(const ConvArgs& args) {
  const int64_t bytes = args.element == Element::kBFloat16 ? 2 : 4;
  return Aligned(args.x, args.x_stride, bytes) && args.x_batch_stride * bytes % 16 == 0 &&
         args.channels * bytes % 16 == 0 && args.batch * CeilDiv(args.tokens, kRun) < 65536;
}

int64_t ConvRuns(int64_t batch, int64_t tokens) { return batch * CeilDiv(tokens, kRun); }

void RunConv(const ConvArgs& args, cudaStream_t stream) {
  if (args.element == Element::kBFloat16) {
    Launch<bf16>(args, stream);
  } else {
    Launch<float>(args, stream);
  }
}

void RunConvGradient(const ConvArgs& args, cudaStream_t stream) { RunConv(args, stream); }

}  // namespace natsl::training::cuda
