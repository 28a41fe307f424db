// A block carries a tile of columns of one group's state over all chunks; the next chunk's matrix
// is on its way while this one's is multiplied.
#include "kernels/cuda/device.cuh"
#include "training/cuda/kernels/chunks.h"

namespace natsl::training::cuda {
namespace {

using kernels::cuda::AllowShared;
using kernels::cuda::bf16;
using kernels::cuda::CheckLaunch;
using kernels::cuda::Load;
using kernels::cuda::Store;

constexpr int kColumns = 16, kThreads = 128;
// A thread holds 4 columns of kRows rows.
constexpr int kPerThread = 4, kLanes = kColumns / kPerThread;

template <int K>
constexpr int kRows = K* kColumns / (kThreads * kPerThread);

template <int K>
constexpr int kStride = K + 1;  // transposed reads without bank conflicts

template <int K>
constexpr int64_t kSharedBytes = (int64_t{K} * kStride<K> + int64_t{2} * K * kColumns) * 4;

template <typename T, int K>
__global__ void __launch_bounds__(kThreads) ErasingScanKernel(ErasingScanArgs args) {
  constexpr int N = 4, kLoads = K * K / (kThreads * N), R = kRows<K>;
  extern __shared__ __align__(16) float shared[];
  float* const state = shared;                      // [2][K][kColumns]
  float* const matrix = shared + 2 * K * kColumns;  // [K][kStride]
  const int64_t group = blockIdx.y;
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x % kLanes * kPerThread;
  const int lane = threadIdx.x % kLanes * kPerThread;
  const int first_row = threadIdx.x / kLanes * R;
  const T* erase = static_cast<const T*>(args.erase) + group * args.chunks * K * K;
  const T* increment =
      static_cast<const T*>(args.increment) + group * args.chunks * K * args.values;
  T* out = static_cast<T*>(args.out) + group * args.chunks * K * args.values;

  float next[kLoads][N];
  const auto fetch = [&](int64_t c) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      Load<T, N>(erase + c * K * K + (i * kThreads + threadIdx.x) * N, next[i]);
    }
  };
  const auto chunk_of = [&](int64_t step) { return args.backward ? args.chunks - 1 - step : step; };
  for (int i = threadIdx.x; i < K * kColumns; i += kThreads) state[i] = 0;
  fetch(chunk_of(0));
  int current = 0;
  for (int64_t step = 0; step < args.chunks; ++step) {
    const int64_t c = chunk_of(step);
    __syncthreads();  // the state is complete, the last matrix is read
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = (i * kThreads + threadIdx.x) * N;
#pragma unroll
      for (int n = 0; n < N; ++n) matrix[at / K * kStride<K> + at % K + n] = next[i][n];
    }
    const float* from = state + current * K * kColumns;
    float* to = state + (1 - current) * K * kColumns;
    float sum[R][kPerThread];
    const float decay = args.decay == nullptr ? 1.0f : args.decay[group * args.chunks + c];
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int row = first_row + r;
      float old[kPerThread];
#pragma unroll
      for (int n = 0; n < kPerThread; ++n) old[n] = from[row * kColumns + lane + n];
      Store<T, kPerThread>(out + (c * K + row) * args.values + column, old);
      Load<T, kPerThread>(increment + (c * K + row) * args.values + column, sum[r]);
#pragma unroll
      for (int n = 0; n < kPerThread; ++n) sum[r][n] = fmaf(decay, old[n], sum[r][n]);
    }
    if (step + 1 == args.chunks) return;
    fetch(chunk_of(step + 1));
    __syncthreads();  // the matrix is complete
#pragma unroll 8
    for (int k = 0; k < K; ++k) {
      const float4 column_values = *reinterpret_cast<const float4*>(from + k * kColumns + lane);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const int row = first_row + r;
        const float e =
            -(args.backward ? matrix[k * kStride<K> + row] : matrix[row * kStride<K> + k]);
        sum[r][0] = fmaf(e, column_values.x, sum[r][0]);
        sum[r][1] = fmaf(e, column_values.y, sum[r][1]);
        sum[r][2] = fmaf(e, column_values.z, sum[r][2]);
        sum[r][3] = fmaf(e, column_values.w, sum[r][3]);
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      *reinterpret_cast<float4*>(to + (first_row + r) * kColumns + lane) =
          make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
    current = 1 - current;
  }
}

template <typename T, int K>
void Launch(const ErasingScanArgs& args, cudaStream_t stream) {
  const auto kernel = ErasingScanKernel<T, K>;
  AllowShared(reinterpret_cast<const void*>(kernel), kSharedBytes<K>);
  const dim3 grid(static_cast<unsigned>(args.values / kColumns),
                  static_cast<unsigned>(args.groups));
  kernel<<<grid, kThreads, kSharedBytes<K>, stream>>>(args);
  CheckLaunch("training: erasing scan");
}

template <typename T>
void LaunchKeys(const ErasingScanArgs& args, cudaStream_t stream) {
  if (args.keys == 32) return Launch<T, 32>(args, stream);
  if (args.keys == 64) return Launch<T, 64>(args, stream);
  Launch<T, 128>(args, stream);
}

}  // namespace

bool ErasingScanIsSupported(const ErasingScanArgs& args) {
  return (args.keys == 32 || args.keys == 64 || args.keys == 128) && args.values % kColumns == 0 &&
         args.values > 0 && args.groups > 0 && args.groups < 65536;
}

void RunErasingScan(const ErasingScanArgs& args, cudaStream_t stream) {
  if (args.chunks == 0) return;
  if (args.element == Element::kBFloat16) {
    LaunchKeys<bf16>(args, stream);
  } else {
    LaunchKeys<float>(args, stream);
  }
}

}  // namespace natsl::training::cuda
