// Matrices of single chunks: the inverse of the delta rule's corrections, the decays.
#include "kernels/cuda/device.cuh"
#include "training/cuda/kernels/chunks.h"

namespace natsl::training::cuda {
namespace {

using kernels::cuda::bf16;
using kernels::cuda::CeilDiv;
using kernels::cuda::CheckLaunch;
using kernels::cuda::FromFloat;
using kernels::cuda::Load;
using kernels::cuda::Store;
using kernels::cuda::ToFloat;

constexpr int kSize = 64, kMatrices = 2, kThreads = kSize * kMatrices;

// A thread a column of the inverse, kept in registers: row i is the identity's less the sum of
// a[i][k] times row k. Columns to the right of the row stay zero by themselves.
template <typename T>
__global__ void __launch_bounds__(kThreads) InverseKernel(InverseArgs args) {
  __shared__ __align__(16) float shared[kMatrices][kSize][kSize];
  const int matrix = threadIdx.x / kSize, column = threadIdx.x % kSize;
  const int64_t n = int64_t{blockIdx.x} * kMatrices + matrix;
  const bool valid = n < args.count;
  const T* a = static_cast<const T*>(args.a) + n * kSize * kSize;
  if (valid) {
    for (int i = 0; i < kSize; ++i) shared[matrix][i][column] = ToFloat(a[i * kSize + column]);
  }
  __syncthreads();
  if (!valid) return;
  T* out = static_cast<T*>(args.out) + n * kSize * kSize;
  float inverse[kSize];
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    float sum = i == column ? 1.0f : 0.0f;
#pragma unroll
    for (int k = 0; k < i; k += 4) {
      const float4 row = *reinterpret_cast<const float4*>(&shared[matrix][i][k]);
      sum = fmaf(-row.x, inverse[k], sum);
      if (k + 1 < i) sum = fmaf(-row.y, inverse[k + 1], sum);
      if (k + 2 < i) sum = fmaf(-row.z, inverse[k + 2], sum);
      if (k + 3 < i) sum = fmaf(-row.w, inverse[k + 3], sum);
    }
    inverse[i] = sum;
    out[i * kSize + column] = FromFloat<T>(sum);
  }
}

template <typename T>
__global__ void __launch_bounds__(256) DecayMatrixKernel(DecayMatrixArgs args) {
  constexpr int N = 16 / sizeof(T), kPerRow = kSize / N;
  const int64_t index = int64_t{blockIdx.x} * 256 + threadIdx.x;
  const int64_t row = index / kPerRow;
  if (row >= args.count * kSize) return;
  const int t = static_cast<int>(row % kSize), first = static_cast<int>(index % kPerRow) * N;
  const float* b = args.b + row / kSize * kSize;
  float out[N];
#pragma unroll
  for (int i = 0; i < N; ++i) out[i] = first + i <= t ? __expf(b[t] - b[first + i]) : 0.0f;
  Store<T, N>(static_cast<T*>(args.out) + row * kSize + first, out);
}

}  // namespace

void RunUnitLowerInverse(const InverseArgs& args, cudaStream_t stream) {
  if (args.count == 0) return;
  const auto blocks = static_cast<unsigned>(CeilDiv(args.count, kMatrices));
  if (args.element == Element::kBFloat16) {
    InverseKernel<bf16><<<blocks, kThreads, 0, stream>>>(args);
  } else {
    InverseKernel<float><<<blocks, kThreads, 0, stream>>>(args);
  }
  CheckLaunch("training: unit lower inverse");
}

void RunDecayMatrix(const DecayMatrixArgs& args, cudaStream_t stream) {
  if (args.count == 0) return;
  if (args.element == Element::kBFloat16) {
    const auto blocks = static_cast<unsigned>(CeilDiv(args.count * kSize * (kSize / 8), 256));
    DecayMatrixKernel<bf16><<<blocks, 256, 0, stream>>>(args);
  } else {
    const auto blocks = static_cast<unsigned>(CeilDiv(args.count * kSize * (kSize / 4), 256));
    DecayMatrixKernel<float><<<blocks, 256, 0, stream>>>(args);
  }
  CheckLaunch("training: decay matrix");
}

}  // namespace natsl::training::cuda
