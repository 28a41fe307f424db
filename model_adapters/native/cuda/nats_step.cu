// A block per sequence routes; a block per (sequence, attention head) merges.
#include "kernels/cuda/launch.h"
#include "model_adapters/native/cuda/forced_choice.cuh"
#include "model_adapters/native/cuda/nats_step.h"
#include "model_adapters/native/cuda/skinny_input.cuh"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;
using kernels::cuda::bf16;
using kernels::cuda::FromFloat;
using kernels::cuda::LaneMax;
using kernels::cuda::LaneSum;
using kernels::cuda::ToFloat;

constexpr int64_t kMostHeads = 64;
constexpr int64_t kMostHidden = 8192;

template <typename T>
__global__ void __launch_bounds__(kSkinnyThreads) RouteKernel(RouteStepArgs a) {
  extern __shared__ uint4 shared[];
  __shared__ float scores[2 * kMostHeads];
  constexpr int N = Piece<T>::kSize;
  const int64_t s = blockIdx.x;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int hidden = static_cast<int>(a.input.in);
  SkinnyProductArgs input = a.input;  // this sequence's row
  input.x = static_cast<const T*>(input.x) + s * input.x_stride;
  if (input.residual != nullptr) {
    input.residual = static_cast<const T*>(input.residual) + s * input.residual_stride;
  }
  input.rows = 1;
  input.sum = nullptr;
  const bool held = HeldInput<T>::Fits(input);
  HeldInput<T> norm;
  if (held) norm.Ahead(input);
  const int64_t position = a.positions[s], before = position % kPageTokens;
  const int64_t from = kernels::cuda::ReadSlot(a.slots, s);
  const int64_t to = kernels::cuda::WriteSlot(a.slots, s);
  kernels::cuda::AwaitPrevious();
  if (held) {
    norm.Make(input, shared);
  } else {
    MakeInput<T>(input, shared, hidden / N);
  }
  __syncthreads();
  const bool complete = before == kPageTokens - 1;
  T* h = reinterpret_cast<T*>(shared);
  for (int c = static_cast<int>(threadIdx.x); c < hidden; c += kSkinnyThreads) {
    float sum = ToFloat(h[c]);
    if (before > 0) sum += a.pooled[from * hidden + c];
    if (to >= 0) a.pooled[to * hidden + c] = complete ? 0.0f : sum;
    if (complete) h[c] = FromFloat<T>(sum / float{kPageTokens});
  }
  if (!complete) return;
  __syncthreads();
  for (int64_t row = warp; row < 2 * a.heads; row += kSkinnyWarps) {
    const T* weight = static_cast<const T*>(a.score_weight) + row * hidden;
    float sum = 0;
    for (int c = lane; c < hidden; c += 32) sum += ToFloat(h[c]) * ToFloat(weight[c]);
    sum = LaneSum(sum);
    if (a.score_bias != nullptr) sum += ToFloat(static_cast<const T*>(a.score_bias)[row]);
    if (lane == 0) scores[row] = ToFloat(FromFloat<T>(sum));
  }
  __syncthreads();
  for (int64_t head = threadIdx.x; head < a.heads; head += kSkinnyThreads) {
    const float s0 = scores[2 * head], s1 = scores[2 * head + 1];
    bool attention = s0 >= s1;
    if (sizeof(T) == 2) {
      const float high = fmaxf(s0, s1), e0 = expf(s0 - high), e1 = expf(s1 - high);
      attention = ToFloat(FromFloat<T>(e0 / (e0 + e1))) >= ToFloat(FromFloat<T>(e1 / (e0 + e1)));
    }
    if (a.forced_share >= 0)
      attention = Forced(a.layer, position / kPageTokens, head, a.forced_share);
    a.softmax[s * a.heads + head] = attention ? 1 : 0;
    if (attention) atomicAdd(a.counts + 2 * head, 1ull);
    atomicAdd(a.counts + 2 * head + 1, 1ull);
  }
}

constexpr int kMergeThreads = 512;
constexpr int kMergeWarps = kMergeThreads / 32;
constexpr int kLargestWidth = 256;
constexpr int kMostSplits = 1024;

// Sums of kCount values over the block, in every thread.
template <int kCount>
__device__ void BlockSums(float (&x)[kCount], float (*shared)[kMergeWarps]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = LaneSum(x[i]);
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) shared[i][threadIdx.x / 32] = x[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    x[i] = 0;
#pragma unroll
    for (int w = 0; w < kMergeWarps; ++w) x[i] += shared[i][w];
  }
}

// `columns`: threads over the width, a power of two; the parts are taken by kMergeThreads / columns
// of them in turn.
template <typename T>
__global__ void __launch_bounds__(kMergeThreads) MergeKernel(MergeStepArgs a, int columns) {
  __shared__ float factors[kMostSplits], sums[2][kMergeWarps], maxima[kMergeWarps];
  __shared__ float joined[kMergeThreads];
  const int64_t head = blockIdx.x, s = blockIdx.y;
  const int thread = static_cast<int>(threadIdx.x), width = static_cast<int>(a.width);
  const int splits = static_cast<int>(a.splits), stride = width + 2;
  const int column = thread % columns, share = thread / columns, shares = kMergeThreads / columns;
  const T* weight0 = static_cast<const T*>(a.mix_weight) + 2 * head * a.mix_in;
  const T* weight1 = weight0 + a.mix_in;
  float w0 = 0, w1 = 0;  // the first columns' weights, ahead
  if (thread < a.mix_in) {
    w0 = ToFloat(weight0[thread]);
    w1 = ToFloat(weight1[thread]);
  }
  float delta_weight = 0, attention_weight = 0;
  if (share == 0 && column < width) {
    delta_weight = a.delta_weight[column];
    attention_weight = a.attention_weight[column];
  }
  kernels::cuda::AwaitPrevious();
  const int64_t at = (s * a.heads + head) * width;
  float x1 = 0, gate = 0;
  if (share == 0 && column < width) {
    x1 = ToFloat(static_cast<const T*>(a.delta)[at + column]);
    gate = ToFloat(static_cast<const T*>(a.gate)[s * a.gate_stride + head * width + column]);
  }
  const T* q = static_cast<const T*>(a.q) + s * a.q_stride;
  float logits[2] = {};
  for (int64_t c = thread; c < a.mix_in; c += kMergeThreads) {
    const float x = ToFloat(q[c]);
    logits[0] += x * (c == thread ? w0 : ToFloat(weight0[c]));
    logits[1] += x * (c == thread ? w1 : ToFloat(weight1[c]));
  }
  float x2 = 0;
  if (splits == 1) {
    if (share == 0 && column < width) {
      x2 = ToFloat(static_cast<const T*>(a.attention)[at + column]);
    }
  } else {
    const float* parts = a.parts + (s * a.heads + head) * splits * stride;
    float high = -INFINITY, total[1] = {};
    for (int p = thread; p < splits; p += kMergeThreads) high = fmaxf(high, parts[p * stride]);
    high = LaneMax(high);
    if (thread % 32 == 0) maxima[thread / 32] = high;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < kMergeWarps; ++w) high = fmaxf(high, maxima[w]);
    for (int p = thread; p < splits; p += kMergeThreads) {
      const float own = parts[p * stride];
      factors[p] = own == -INFINITY ? 0.0f : __expf(own - high);
      total[0] += factors[p] * parts[p * stride + 1];
    }
    BlockSums(total, sums);
    float value = 0;
#pragma unroll 8
    for (int p = share; p < splits; p += shares) {
      if (column < width) value += factors[p] * parts[p * stride + 2 + column];
    }
    joined[thread] = value;
    __syncthreads();
    if (share == 0) {
      for (int i = 1; i < shares; ++i) value += joined[i * columns + column];
      x2 = ToFloat(FromFloat<T>(total[0] == 0 ? 0.0f : value / total[0]));
    }
  }
  BlockSums(logits, sums);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (a.mix_bias != nullptr)
      logits[i] += ToFloat(static_cast<const T*>(a.mix_bias)[2 * head + i]);
    logits[i] = ToFloat(FromFloat<T>(logits[i]));
  }
  const float mix0 = ToFloat(FromFloat<T>(1.0f / (1.0f + expf(logits[1] - logits[0]))));
  const float mix1 = ToFloat(FromFloat<T>(1.0f / (1.0f + expf(logits[0] - logits[1]))));
  float squares[2] = {x1 * x1, x2 * x2};
  BlockSums(squares, sums);
  const float size = static_cast<float>(width), eps = static_cast<float>(a.eps);
  const float factor1 = rsqrtf(squares[0] / size + eps) * mix0;
  const float factor2 = rsqrtf(squares[1] / size + eps) * mix1;
  if (share == 0 && column < width) {
    static_cast<T*>(a.y)[at + column] =
        FromFloat<T>((factor1 * x1 * delta_weight + factor2 * x2 * attention_weight) *
                     kernels::cuda::Silu(gate));
  }
  const int64_t each = a.heads / a.table.groups, group = head / each;
  if (thread == 0 && head % each == 0 && a.positions[s] % kPageTokens == kPageTokens - 1 &&
      a.softmax[s * a.table.groups + group] == 0) {
    a.table.keys[a.lists[s] * a.table.groups + group] -= static_cast<int32_t>(kPageTokens);
  }
}

}  // namespace

bool RouteStepFits(const RouteStepArgs& a) {
  return a.heads <= kMostHeads && a.input.in <= kMostHidden && SkinnyFits(a.input);
}

void RunRouteStep(const RouteStepArgs& a, cudaStream_t stream) {
  const bool half = a.input.dtype == kernels::DType::kBFloat16;
  const int64_t bytes = a.input.in * (half ? 2 : 4);
  const kernels::cuda::OverlappedLaunch launch(dim3(static_cast<unsigned>(a.input.rows)),
                                               dim3(kSkinnyThreads), bytes, stream);
  kernels::cuda::Check(
      cudaLaunchKernelEx(launch.config(), half ? RouteKernel<bf16> : RouteKernel<float>, a),
      "route step");
}

void RunMergeStep(const MergeStepArgs& a, cudaStream_t stream) {
  kernels::cuda::Require(a.width <= kLargestWidth && a.splits <= kMostSplits,
                         "merge step: a head is wider than 256");
  const int columns = a.width <= 64 ? 64 : a.width <= 128 ? 128 : kLargestWidth;
  const kernels::cuda::OverlappedLaunch launch(
      dim3(static_cast<unsigned>(a.heads), static_cast<unsigned>(a.sequences)), dim3(kMergeThreads),
      0, stream);
  const bool half = a.dtype == kernels::DType::kBFloat16;
  kernels::cuda::Check(
      cudaLaunchKernelEx(launch.config(), half ? MergeKernel<bf16> : MergeKernel<float>, a,
                         columns),
      "merge step");
}

}  // namespace natsl::model_adapters::native::cuda
