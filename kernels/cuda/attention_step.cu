// A block per (sequence, group): it finds the group's page, then its warps take heads in turn.
#include "kernels/cuda/attention_step.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kLargestDim = 256;
constexpr int kItems = kLargestDim / 32;

// A warp's head: normed, then rotated.
template <typename T>
__device__ void Prepare(const AttentionStepArgs& a, const T* x, const float* weight, double eps,
                        int64_t position, T* y, float* shared) {
  const int lane = threadIdx.x % 32, width = static_cast<int>(a.pool.key_dim);
  float value[kItems], squares = 0;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int c = j * 32 + lane;
    value[j] = c < width ? ToFloat(x[c]) : 0.0f;
    squares += value[j] * value[j];
  }
  float factor = 1;
  if (a.normalize) {
    factor = rsqrtf(LaneSum(squares) / static_cast<float>(width) + static_cast<float>(eps));
  }
  const float extra = a.one_plus ? 1.0f : 0.0f;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const int c = j * 32 + lane;
    if (c >= width) continue;
    if (a.normalize) {
      value[j] *= factor;
      if (weight != nullptr) value[j] *= weight[c] + extra;
      value[j] = ToFloat(FromFloat<T>(value[j]));
    }
    if (a.inverse_frequencies == nullptr) {
      y[c] = FromFloat<T>(value[j]);
    } else {
      shared[c] = value[j];
    }
  }
  if (a.inverse_frequencies == nullptr) return;
  __syncwarp();
  const int half = static_cast<int>(a.rotary_dims / 2);
  for (int c = lane; c < half; c += 32) {
    const float angle = static_cast<float>(position) * a.inverse_frequencies[c];
    float sine, cosine;
    sincosf(angle, &sine, &cosine);
    sine = ToFloat(FromFloat<T>(sine * static_cast<float>(a.attention_factor)));
    cosine = ToFloat(FromFloat<T>(cosine * static_cast<float>(a.attention_factor)));
    const float x0 = shared[c], x1 = shared[c + half];
    y[c] = FromFloat<T>(x0 * cosine - x1 * sine);
    y[c + half] = FromFloat<T>(x0 * sine + x1 * cosine);
  }
  for (int c = 2 * half + lane; c < width; c += 32) y[c] = FromFloat<T>(shared[c]);
  __syncwarp();
}

template <typename T>
__global__ void __launch_bounds__(kThreads) StepKernel(AttentionStepArgs a) {
  __shared__ int32_t shared_page, shared_row;
  __shared__ float rows[kWarps][kLargestDim];
  const int64_t s = blockIdx.x, group = blockIdx.y;
  const int warp = threadIdx.x / 32;
  const int64_t list = a.slots[s] * a.table.groups + group;
  AwaitPrevious();
  if (threadIdx.x == 0) {
    const int32_t keys = a.table.keys[list];
    const int64_t at = keys / kPageTokens;
    int32_t page = -1;
    if (at < a.table.max_pages) {
      int32_t* entry = a.table.pages + list * a.table.max_pages + at;
      page = *entry;
      if (keys % kPageTokens == 0 && page < 0) {
        const int32_t top = atomicSub(a.table.free_count, 1);
        page = top > 0 ? a.table.free[top - 1] : -1;
        *entry = page;
      }
      a.table.keys[list] = keys + 1;
    }
    shared_page = page;
    shared_row = static_cast<int32_t>(keys % kPageTokens);
  }
  __syncthreads();
  const int64_t page = shared_page, row = shared_row;
  const int64_t key_dim = a.pool.key_dim, value_dim = a.pool.value_dim;
  const int64_t heads = a.pool.heads, queries = a.query_heads / a.table.groups;
  const int64_t position = a.positions == nullptr ? 0 : a.positions[s];
  for (int64_t unit = warp; unit < queries + 2 * heads; unit += kWarps) {
    if (unit < queries) {
      const int64_t at = (group * queries + unit) * key_dim;
      Prepare<T>(a, static_cast<const T*>(a.q) + s * a.q_stride + at, a.q_weight, a.q_eps, position,
                 static_cast<T*>(a.q_out) + s * a.query_heads * key_dim + at, rows[warp]);
      continue;
    }
    if (page < 0) continue;
    const int64_t h = (unit - queries) % heads, head = group * heads + h;
    const int64_t to = (page * heads + h) * kPageTokens + row;
    if (unit < queries + heads) {
      Prepare<T>(a, static_cast<const T*>(a.k) + s * a.k_stride + head * key_dim, a.k_weight,
                 a.k_eps, position, static_cast<T*>(a.pool.keys) + to * key_dim, rows[warp]);
      continue;
    }
    const T* v = static_cast<const T*>(a.v) + s * a.v_stride + head * value_dim;
    T* target = static_cast<T*>(a.pool.values) + to * value_dim;
    for (int64_t c = threadIdx.x % 32; c < value_dim; c += 32) target[c] = v[c];
  }
}

}  // namespace

void RunAttentionStep(const AttentionStepArgs& a, cudaStream_t stream) {
  if (a.sequences == 0) return;
  Require(a.pool.key_dim <= kLargestDim, "attention step: a head is wider than 256");
  const bool half = a.pool.dtype == DType::kBFloat16;
  Require(half || a.pool.dtype == DType::kFloat32, "attention step: dtype of the pool");
  const OverlappedLaunch launch(
      dim3(static_cast<unsigned>(a.sequences), static_cast<unsigned>(a.table.groups)),
      dim3(kThreads), 0, stream);
  Check(cudaLaunchKernelEx(launch.config(), half ? StepKernel<bf16> : StepKernel<float>, a),
        "attention step");
}

}  // namespace natsl::kernels::cuda
