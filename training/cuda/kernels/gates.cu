// SwiGLU, and norms of heads with their gates: a warp a head.
#include "kernels/cuda/device.cuh"
#include "training/cuda/kernels/fused.h"

namespace natsl::training::cuda {
namespace {

using kernels::cuda::Aligned;
using kernels::cuda::bf16;
using kernels::cuda::CeilDiv;
using kernels::cuda::CheckLaunch;
using kernels::cuda::LaneSum;
using kernels::cuda::Load;
using kernels::cuda::Sigmoid;
using kernels::cuda::Store;

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlocks = 2048;

template <typename T>
__global__ void __launch_bounds__(kThreads) SwiGluKernel(SwiGluArgs args) {
  constexpr int N = 16 / sizeof(T);
  const int64_t per_row = args.width / N, total = args.rows * per_row;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t row = i / per_row, column = i % per_row * N;
    const int64_t gate_at = row * 2 * args.width + column, up_at = gate_at + args.width;
    float gate[N], up[N], gradient[N];
    Load<T, N>(static_cast<const T*>(args.x) + gate_at, gate);
    Load<T, N>(static_cast<const T*>(args.x) + up_at, up);
    if (args.y_gradient == nullptr) {
#pragma unroll
      for (int n = 0; n < N; ++n) up[n] *= gate[n] * Sigmoid(gate[n]);
      Store<T, N>(static_cast<T*>(args.y) + row * args.width + column, up);
      continue;
    }
    Load<T, N>(static_cast<const T*>(args.y_gradient) + row * args.width + column, gradient);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const float open = Sigmoid(gate[n]);
      const float up_gradient = gradient[n] * gate[n] * open;
      gate[n] = gradient[n] * up[n] * open * (1 + gate[n] * (1 - open));
      up[n] = up_gradient;
    }
    Store<T, N>(static_cast<T*>(args.x_gradient) + gate_at, gate);
    Store<T, N>(static_cast<T*>(args.x_gradient) + up_at, up);
  }
}

template <typename T>
void LaunchSwiGlu(const SwiGluArgs& args, cudaStream_t stream) {
  const int64_t blocks =
      CeilDiv(args.rows * (args.width / (16 / static_cast<int>(sizeof(T)))), kThreads);
  SwiGluKernel<T>
      <<<static_cast<unsigned>(blocks < 65536 ? blocks : 65536), kThreads, 0, stream>>>(args);
  CheckLaunch("training: SwiGLU");
}

struct Position {
  int64_t batch, token, head;

  template <typename View>
  __device__ int64_t In(const View& view) const {
    return batch * view.batch_stride + token * view.token_stride + head * view.head_stride;
  }
};

// N = width / 32 elements a lane.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads) HeadNormKernel(HeadNormArgs args) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int column = lane * N;
  float weight[N], weight_gradient[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    weight[i] = 1;
    weight_gradient[i] = 0;
  }
  if (args.weight != nullptr) Load<T, N>(static_cast<const T*>(args.weight) + column, weight);
  const bool gated = args.gate.data != nullptr, backward = args.y_gradient.data != nullptr;
  const int64_t rows = args.batch * args.tokens * args.heads;
  for (int64_t row = int64_t{blockIdx.x} * kWarps + warp; row < rows;
       row += int64_t{gridDim.x} * kWarps) {
    const Position at{row / (args.tokens * args.heads), row / args.heads % args.tokens,
                      row % args.heads};
    float x[N], gate[N], out[N];
    Load<T, N>(static_cast<const T*>(args.x.data) + at.In(args.x) + column, x);
    if (gated) Load<T, N>(static_cast<const T*>(args.gate.data) + at.In(args.gate) + column, gate);
    float square = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) square = fmaf(x[i], x[i], square);
    square = LaneSum(square) + args.eps;
    const float inverse = rsqrtf(square);
    if (!backward) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        out[i] = args.scale * inverse * x[i] * weight[i];
        if (gated) out[i] *= gate[i] * Sigmoid(gate[i]);
      }
      Store<T, N>(static_cast<T*>(args.y.data) + at.In(args.y) + column, out);
      continue;
    }
    float gradient[N];  // of y, then of scale x / norm
    Load<T, N>(static_cast<const T*>(args.y_gradient.data) + at.In(args.y_gradient) + column,
               gradient);
    float dot = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float normed = args.scale * inverse * x[i];
      float open = 1;
      if (gated) {
        const float sigmoid = Sigmoid(gate[i]);
        open = gate[i] * sigmoid;
        out[i] = gradient[i] * normed * weight[i] * sigmoid * (1 + gate[i] * (1 - sigmoid));
      }
      weight_gradient[i] = fmaf(gradient[i] * normed, open, weight_gradient[i]);
      gradient[i] *= weight[i] * open;
      dot = fmaf(gradient[i], x[i], dot);
    }
    if (gated) {
      Store<T, N>(static_cast<T*>(args.gate_gradient.data) + at.In(args.gate_gradient) + column,
                  out);
    }
    dot = LaneSum(dot) / square;
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = args.scale * inverse * (gradient[i] - dot * x[i]);
    Store<T, N>(static_cast<T*>(args.x_gradient.data) + at.In(args.x_gradient) + column, out);
  }
  if (!backward || args.weight_gradient == nullptr) return;
  __shared__ float sums[kWarps][32 * N];
#pragma unroll
  for (int i = 0; i < N; ++i) sums[warp][column + i] = weight_gradient[i];
  __syncthreads();
  for (int c = threadIdx.x; c < 32 * N; c += kThreads) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += sums[w][c];
    args.weight_gradient[int64_t{blockIdx.x} * 32 * N + c] = sum;
  }
}

template <typename T>
void LaunchHeadNorm(const HeadNormArgs& args, cudaStream_t stream) {
  switch (args.width / 32) {
    case 1:
      HeadNormKernel<T, 1><<<kBlocks, kThreads, 0, stream>>>(args);
      break;
    case 2:
      HeadNormKernel<T, 2><<<kBlocks, kThreads, 0, stream>>>(args);
      break;
    case 4:
      HeadNormKernel<T, 4><<<kBlocks, kThreads, 0, stream>>>(args);
      break;
    default:
      HeadNormKernel<T, 8><<<kBlocks, kThreads, 0, stream>>>(args);
      break;
  }
  CheckLaunch("training: norm of heads");
}

}  // namespace

bool SwiGluIsSupported(const SwiGluArgs& args) {
  const int64_t bytes = args.element == Element::kBFloat16 ? 2 : 4;
  return Aligned(args.x, args.width, bytes);
}

void RunSwiGlu(const SwiGluArgs& args, cudaStream_t stream) {
  if (args.rows == 0) return;
  if (args.element == Element::kBFloat16) {
    LaunchSwiGlu<bf16>(args, stream);
  } else {
    LaunchSwiGlu<float>(args, stream);
  }
}

bool HeadNormIsSupported(const HeadNormArgs& args) {
  if (args.width != 32 && args.width != 64 && args.width != 128 && args.width != 256) return false;
  const int64_t vector = args.width / 32;
  const int64_t bytes = vector * (args.element == Element::kBFloat16 ? 2 : 4);
  const auto fits = [&](const auto& view) {
    if (view.data == nullptr) return true;
    return reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes) == 0 &&
           view.batch_stride % vector == 0 && view.token_stride % vector == 0 &&
           view.head_stride % vector == 0;
  };
  return fits(args.x) && fits(args.gate) && fits(args.y_gradient);
}

int64_t HeadNormBlocks() { return kBlocks; }

void RunHeadNorm(const HeadNormArgs& args, cudaStream_t stream) {
  if (args.element == Element::kBFloat16) {
    LaunchHeadNorm<bf16>(args, stream);
  } else {
    LaunchHeadNorm<float>(args, stream);
  }
}

}  // namespace natsl::training::cuda
