// Embedding rows, gathered rows, and one pass over rows of logits.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/sampling.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T, int N>
__global__ void __launch_bounds__(kThreads) EmbedKernel(EmbedArgs a) {
  const int64_t row = blockIdx.x;
  AwaitPrevious();
  const T* from = static_cast<const T*>(a.table) + max(a.ids[row], 0) * a.hidden;
  T* to = static_cast<T*>(a.y) + row * a.hidden;
  const float scale = ToFloat(FromFloat<T>(static_cast<float>(a.scale)));
  for (int64_t i = threadIdx.x * N; i < a.hidden; i += kThreads * N) {
    float x[N];
    Load<T, N>(from + i, x);
#pragma unroll
    for (int e = 0; e < N; ++e) x[e] *= scale;
    Store<T, N>(to + i, x);
  }
}

template <typename T, int N>
__global__ void __launch_bounds__(kThreads) GatherKernel(GatherRowsArgs a) {
  const T* from = static_cast<const T*>(a.x) + a.rows[blockIdx.x] * a.x_stride;
  T* to = static_cast<T*>(a.y) + blockIdx.x * a.width;
  for (int64_t i = threadIdx.x * N; i < a.width; i += kThreads * N) {
    *reinterpret_cast<Vec<T, N>*>(to + i) = *reinterpret_cast<const Vec<T, N>*>(from + i);
  }
}

struct Best {
  float value;
  int32_t index;
};

__device__ Best Larger(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

// A block a row: running maximum (first of the largest) and sum of exponentials.
template <typename T, int N, int kThreads>
__global__ void __launch_bounds__(kThreads) LogitsKernel(LogitsArgs a) {
  __shared__ float maxima[kThreads / 32], sums[kThreads / 32];
  __shared__ int32_t indices[kThreads / 32];
  const int64_t row = blockIdx.x;
  AwaitPrevious();
  const bool summed =
      a.log_sum_exp != nullptr || a.argmax_log_prob != nullptr || a.target_log_prob != nullptr;
  const T* logits = static_cast<const T*>(a.logits) + row * a.logits_stride;
  const float cap = static_cast<float>(a.soft_cap);
  const auto capped = [&](float x) { return cap > 0 ? cap * tanhf(x / cap) : x; };
  Best best{-INFINITY, 0x7fffffff};
  float sum = 0;
  bool broken = false;  // fmaxf and comparisons pass a NaN by
  for (int64_t i = threadIdx.x * N; i < a.vocabulary; i += kThreads * N) {
    float x[N];
    Load<T, N>(logits + i, x);
    float high = best.value;
#pragma unroll
    for (int e = 0; e < N; ++e) {
      x[e] = capped(x[e]);
      broken = broken || isnan(x[e]);
      if (x[e] > high) {
        high = x[e];
        best.index = static_cast<int32_t>(i + e);
      }
    }
    if (high > best.value) {
      sum *= expf(best.value - high);
      best.value = high;
    }
    // A row may hold -inf (a masked entry); nothing is summed before the first finite value.
    if (summed && best.value > -INFINITY) {
#pragma unroll
      for (int e = 0; e < N; ++e) sum += expf(x[e] - best.value);
    }
  }
  const auto join = [&](Best other, float other_sum) {
    const Best high = Larger(best, other);
    sum = (best.value > -INFINITY ? sum * expf(best.value - high.value) : 0.0f) +
          (other.value > -INFINITY ? other_sum * expf(other.value - high.value) : 0.0f);
    best = high;
  };
  for (int d = 16; d > 0; d >>= 1) {
    const Best other{__shfl_down_sync(0xffffffffu, best.value, d),
                     __shfl_down_sync(0xffffffffu, best.index, d)};
    const float other_sum = __shfl_down_sync(0xffffffffu, sum, d);
    join(other, other_sum);
  }
  if (threadIdx.x % 32 == 0) {
    maxima[threadIdx.x / 32] = best.value;
    indices[threadIdx.x / 32] = best.index;
    sums[threadIdx.x / 32] = sum;
  }
  broken = __syncthreads_or(broken);
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kThreads / 32; ++w) join(Best{maxima[w], indices[w]}, sums[w]);
  // A row of -inf alone has no largest entry: the first one.
  if (best.value == -INFINITY) best.index = 0;
  if (broken) best = {NAN, kNoId};
  const float log_sum = best.value + logf(sum);
  if (a.log_sum_exp != nullptr) a.log_sum_exp[row] = log_sum;
  if (a.argmax != nullptr) a.argmax[row] = best.index;
  if (a.argmax_log_prob != nullptr) a.argmax_log_prob[row] = best.value - log_sum;
  if (a.target_log_prob != nullptr) {
    const int32_t target = a.targets[row];
    a.target_log_prob[row] = target < 0 ? 0.0f : capped(ToFloat(logits[target])) - log_sum;
  }
}

bool IsBFloat16(DType dtype) {
  Require(dtype == DType::kBFloat16 || dtype == DType::kFloat32,
          "sampling: dtype isn't float32 or bfloat16");
  return dtype == DType::kBFloat16;
}

}  // namespace

void RunEmbed(const EmbedArgs& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  const int64_t bytes = core::ByteSize(a.dtype);
  const bool vectors = Aligned(a.table, a.hidden, bytes) && Aligned(a.y, a.hidden, bytes);
  const auto kernel = IsBFloat16(a.dtype)
                          ? (vectors ? EmbedKernel<bf16, 8> : EmbedKernel<bf16, 1>)
                          : (vectors ? EmbedKernel<float, 4> : EmbedKernel<float, 1>);
  const OverlappedLaunch launch(dim3(static_cast<unsigned>(a.rows)), dim3(kThreads), 0, stream);
  Check(cudaLaunchKernelEx(launch.config(), kernel, a), "embedding");
}

void RunGatherRows(const GatherRowsArgs& a, cudaStream_t stream) {
  if (a.count == 0) return;
  const int64_t bytes = core::ByteSize(a.dtype);
  const bool vectors = Aligned(a.x, a.x_stride, bytes) && Aligned(a.y, a.width, bytes);
  const auto rows = static_cast<unsigned>(a.count);
  if (IsBFloat16(a.dtype)) {
    if (vectors) {
      GatherKernel<bf16, 8><<<rows, kThreads, 0, stream>>>(a);
    } else {
      GatherKernel<bf16, 1><<<rows, kThreads, 0, stream>>>(a);
    }
  } else {
    if (vectors) {
      GatherKernel<float, 4><<<rows, kThreads, 0, stream>>>(a);
    } else {
      GatherKernel<float, 1><<<rows, kThreads, 0, stream>>>(a);
    }
  }
  CheckLaunch("gather rows");
}

namespace {

template <int kThreads>
void LaunchLogits(const LogitsArgs& a, cudaStream_t stream) {
  const int64_t bytes = core::ByteSize(a.dtype);
  const bool vectors = Aligned(a.logits, a.logits_stride, bytes) && a.vocabulary % 8 == 0;
  const auto kernel =
      IsBFloat16(a.dtype)
          ? (vectors ? LogitsKernel<bf16, 8, kThreads> : LogitsKernel<bf16, 1, kThreads>)
          : (vectors ? LogitsKernel<float, 4, kThreads> : LogitsKernel<float, 1, kThreads>);
  const OverlappedLaunch launch(dim3(static_cast<unsigned>(a.rows)), dim3(kThreads), 0, stream);
  Check(cudaLaunchKernelEx(launch.config(), kernel, a), "logits");
}

}  // namespace

void RunLogits(const LogitsArgs& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  // Few rows leave most of the device idle: larger blocks at least.
  a.rows <= 64 ? LaunchLogits<1024>(a, stream) : LaunchLogits<256>(a, stream);
}

}  // namespace natsl::kernels::cuda
