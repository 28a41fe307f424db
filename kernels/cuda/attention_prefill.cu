// Prefill attention over pages for every dtype and head size: a block per chunk and query head,
// float32 arithmetic, running softmax. attention_wgmma.cu has the fast path of Hopper.
#include "kernels/cuda/attention_prefill.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kKeys = 32;  // of a tile
constexpr int kLanes = 4;  // threads of a query

// kMost: largest value_dim.
template <typename T, int kMost>
__global__ void __launch_bounds__(kThreads) PrefillKernel(PrefillAttentionArgs a, ChunkPlan plan) {
  extern __shared__ float shared[];
  const int64_t c = blockIdx.x, query_head = blockIdx.y;
  const int64_t s = plan.chunk_sequence[c];
  if (s < 0) return;
  const int key_dim = static_cast<int>(a.pool.key_dim);
  const int value_dim = static_cast<int>(a.pool.value_dim);
  const int key_pitch = key_dim + 1, value_pitch = value_dim + 1;
  float* queries = shared;                          // [64][key_pitch]
  float* keys = queries + kPageTokens * key_pitch;  // [kKeys][key_pitch]
  float* values = keys + kKeys * key_pitch;         // [kKeys][value_pitch]
  float* weights = values + kKeys * value_pitch;    // [64][kKeys + 1]

  const int64_t groups = a.table.groups, kv_heads = groups * a.pool.heads;
  const int64_t kv_head = query_head / (a.query_heads / kv_heads);
  const int64_t group = kv_head / a.pool.heads, head = kv_head % a.pool.heads;
  const int64_t first_row = plan.chunk_row[c];
  const int rows = plan.chunk_rows[c];
  const int64_t first = plan.first == nullptr ? 0 : plan.first[s];
  const int before = static_cast<int>((first + first_row - plan.offsets[s]) % kPageTokens);
  const int64_t past = a.pages.past[c * groups + group];
  const int32_t* list = a.table.pages + (a.slots[s] * groups + group) * a.table.max_pages;

  for (int i = threadIdx.x; i < rows * key_dim; i += kThreads) {
    const int r = i / key_dim, d = i % key_dim;
    queries[r * key_pitch + d] = static_cast<float>(a.scale) *
                                 ToFloat(static_cast<const T*>(
                                     a.q)[(first_row + r) * a.q_stride + query_head * key_dim + d]);
  }
  const int query = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const bool live = query < rows;
  float sum[kMost / kLanes];
#pragma unroll
  for (int j = 0; j < kMost / kLanes; ++j) sum[j] = 0;
  float high = -INFINITY, total = 0;
  // The query's place along the list, if its own chunk follows `past` full pages.
  const int64_t place = past * kPageTokens + before + query;
  const int64_t lowest = a.window > 0 ? place - a.window + 1 : 0;
  const int64_t first_seen =
      a.window > 0 ? max(int64_t{0}, past * kPageTokens + before - a.window + 1) : 0;

  const int64_t tiles_of_past = past * (kPageTokens / kKeys);
  const int64_t own_tiles = a.own_chunk ? (before + rows + kKeys - 1) / kKeys : 0;
  for (int64_t tile = first_seen / kKeys; tile < tiles_of_past + own_tiles; ++tile) {
    const bool own = tile >= tiles_of_past;
    const int offset = static_cast<int>(tile * kKeys % kPageTokens);  // in its page
    const int count = own ? min(kKeys, before + rows - offset) : kKeys;
    // Rows of this batch, or of a page.
    const bool packed = own && before == 0;
    const T *key_rows, *value_rows;
    int64_t key_stride = key_dim, value_stride = value_dim;
    if (packed) {
      key_rows = static_cast<const T*>(a.k) + (first_row + offset) * a.k_stride + kv_head * key_dim;
      value_rows =
          static_cast<const T*>(a.v) + (first_row + offset) * a.v_stride + kv_head * value_dim;
      key_stride = a.k_stride;
      value_stride = a.v_stride;
    } else {
      const int64_t page =
          own ? a.pages.page[c * groups + group] : list[tile * kKeys / kPageTokens];
      const int64_t at = (page * a.pool.heads + head) * kPageTokens + offset;
      key_rows = static_cast<const T*>(a.pool.keys) + at * key_dim;
      value_rows = static_cast<const T*>(a.pool.values) + at * value_dim;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count * key_dim; i += kThreads) {
      keys[i / key_dim * key_pitch + i % key_dim] =
          ToFloat(key_rows[i / key_dim * key_stride + i % key_dim]);
    }
    for (int i = threadIdx.x; i < count * value_dim; i += kThreads) {
      values[i / value_dim * value_pitch + i % value_dim] =
          ToFloat(value_rows[i / value_dim * value_stride + i % value_dim]);
    }
    __syncthreads();
    float score[kKeys / kLanes];
    float tile_high = -INFINITY;
#pragma unroll
    for (int j = 0; j < kKeys / kLanes; ++j) score[j] = 0;
    if (live) {
      for (int d = 0; d < key_dim; ++d) {
        const float q = queries[query * key_pitch + d];
#pragma unroll
        for (int j = 0; j < kKeys / kLanes; ++j) {
          score[j] += q * keys[(j * kLanes + lane) * key_pitch + d];
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kKeys / kLanes; ++j) {
      const int key = j * kLanes + lane;
      const int64_t along = tile * kKeys + key;
      const bool seen = live && key < count && along >= lowest && (!own || along <= place);
      score[j] = seen ? score[j] : -INFINITY;
      tile_high = fmaxf(tile_high, score[j]);
    }
    tile_high = LaneMax(tile_high, kLanes);
    const float new_high = fmaxf(high, tile_high);
    const float factor = high == -INFINITY ? 0.0f : expf(high - new_high);
    total *= factor;
#pragma unroll
    for (int j = 0; j < kKeys / kLanes; ++j) {
      const float weight = score[j] == -INFINITY ? 0.0f : expf(score[j] - new_high);
      total += weight;
      weights[query * (kKeys + 1) + j * kLanes + lane] = weight;
    }
    high = new_high;
    __syncwarp();
#pragma unroll
    for (int j = 0; j < kMost / kLanes; ++j) sum[j] *= factor;
    for (int key = 0; key < count; ++key) {
      const float weight = weights[query * (kKeys + 1) + key];
#pragma unroll
      for (int j = 0; j < kMost / kLanes; ++j) {
        const int d = j * kLanes + lane;
        if (d < value_dim) sum[j] += weight * values[key * value_pitch + d];
      }
    }
    __syncwarp();
  }
  total = LaneSum(total, kLanes);
  if (!live) return;
  T* o = static_cast<T*>(a.o) + (first_row + query) * a.o_stride + query_head * value_dim;
#pragma unroll
  for (int j = 0; j < kMost / kLanes; ++j) {
    const int d = j * kLanes + lane;
    if (d < value_dim) o[d] = FromFloat<T>(total == 0 ? 0.0f : sum[j] / total);
  }
}

template <typename T, int kMost>
void Launch(const PrefillAttentionArgs& a, cudaStream_t stream) {
  const int64_t kd = a.pool.key_dim + 1, vd = a.pool.value_dim + 1;
  const int64_t bytes = (kPageTokens * kd + kKeys * (kd + vd) + kPageTokens * (kKeys + 1)) * 4;
  const auto kernel = PrefillKernel<T, kMost>;
  AllowShared(reinterpret_cast<const void*>(kernel), bytes);
  const dim3 grid(static_cast<unsigned>(a.plan->max_chunks), static_cast<unsigned>(a.query_heads));
  kernel<<<grid, kThreads, static_cast<size_t>(bytes), stream>>>(a, *a.plan);
  CheckLaunch("prefill attention");
}

template <typename T>
void LaunchAny(const PrefillAttentionArgs& a, cudaStream_t stream) {
  a.pool.value_dim <= 64 ? Launch<T, 64>(a, stream) : Launch<T, 256>(a, stream);
}

}  // namespace

void RunPrefillAttention(const PrefillAttentionArgs& a, cudaStream_t stream) {
  if (a.plan->max_chunks == 0) return;
  Require(a.pool.key_dim <= 256 && a.pool.value_dim <= 256,
          "prefill attention: a head is wider than 256");
  if (RunPrefillAttentionWgmma(a, stream)) return;
  if (a.pool.dtype == DType::kBFloat16) {
    LaunchAny<bf16>(a, stream);
  } else {
    Require(a.pool.dtype == DType::kFloat32, "prefill attention: dtype of the pool");
    LaunchAny<float>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
