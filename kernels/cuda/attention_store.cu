// Writes keys and values into pages.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// Copies `width` elements of a row, N at a time, by the block.
template <typename T, int N>
__device__ void CopyRow(const T* from, T* to, int64_t width) {
  for (int64_t i = threadIdx.x * N; i < width; i += kThreads * N) {
    *reinterpret_cast<Vec<T, N>*>(to + i) = *reinterpret_cast<const Vec<T, N>*>(from + i);
  }
}

// A block per (chunk, group and head): rows of one head, which are neighbours in the page.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads) StoreKernel(StoreKvArgs a, ChunkPlan plan) {
  const int64_t c = blockIdx.x, head = blockIdx.y, group = head / a.pool.heads;
  const int64_t s = plan.chunk_sequence[c];
  if (s < 0) return;
  const int64_t page = a.pages.page[c * a.groups + group];
  if (page < 0) return;
  const int64_t first = plan.first == nullptr ? 0 : plan.first[s];
  const int64_t slot = (first + plan.chunk_row[c] - plan.offsets[s]) % kPageTokens;
  const int64_t rows = plan.chunk_rows[c];
  const int64_t at = (page * a.pool.heads + head % a.pool.heads) * kPageTokens + slot;
  const auto copy = [&](const void* from, int64_t stride, void* to, int64_t width) {
    const T* source = static_cast<const T*>(from) + plan.chunk_row[c] * stride + head * width;
    T* target = static_cast<T*>(to) + at * width;
    const int64_t vectors = width / N;
    for (int64_t i = threadIdx.x; i < rows * vectors; i += kThreads) {
      const int64_t row = i / vectors, column = i % vectors * N;
      *reinterpret_cast<Vec<T, N>*>(target + row * width + column) =
          *reinterpret_cast<const Vec<T, N>*>(source + row * stride + column);
    }
  };
  copy(a.k, a.k_stride, a.pool.keys, a.pool.key_dim);
  copy(a.v, a.v_stride, a.pool.values, a.pool.value_dim);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) AppendKernel(AppendKvArgs a) {
  __shared__ int32_t shared_page, shared_slot;
  const int64_t s = blockIdx.x, group = blockIdx.y;
  const int64_t list = a.slots[s] * a.table.groups + group;
  if (threadIdx.x == 0) {
    const int32_t keys = a.table.keys[list];
    const int64_t at = keys / kPageTokens;
    int32_t page = -1;
    if (at < a.table.max_pages) {
      int32_t* entry = a.table.pages + list * a.table.max_pages + at;
      if (keys % kPageTokens == 0 && *entry < 0) {
        const int32_t top = atomicSub(a.table.free_count, 1);
        *entry = top > 0 ? a.table.free[top - 1] : -1;
      }
      page = *entry;
      a.table.keys[list] = keys + 1;
    }
    shared_page = page;
    shared_slot = static_cast<int32_t>(keys % kPageTokens);
  }
  __syncthreads();
  const int64_t page = shared_page, slot = shared_slot;
  if (page < 0) return;
  for (int64_t h = 0; h < a.pool.heads; ++h) {
    const int64_t head = group * a.pool.heads + h;
    const int64_t at = (page * a.pool.heads + h) * kPageTokens + slot;
    CopyRow<T, 1>(static_cast<const T*>(a.k) + s * a.k_stride + head * a.pool.key_dim,
                  static_cast<T*>(a.pool.keys) + at * a.pool.key_dim, a.pool.key_dim);
    CopyRow<T, 1>(static_cast<const T*>(a.v) + s * a.v_stride + head * a.pool.value_dim,
                  static_cast<T*>(a.pool.values) + at * a.pool.value_dim, a.pool.value_dim);
  }
}

template <typename T, int N>
void Store(const StoreKvArgs& a, bool vectors, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(a.plan->max_chunks),
                  static_cast<unsigned>(a.groups * a.pool.heads));
  if (vectors) {
    StoreKernel<T, N><<<grid, kThreads, 0, stream>>>(a, *a.plan);
  } else {
    StoreKernel<T, 1><<<grid, kThreads, 0, stream>>>(a, *a.plan);
  }
  CheckLaunch("store keys and values");
}

}  // namespace

void RunStoreKv(const StoreKvArgs& a, cudaStream_t stream) {
  if (a.plan->max_chunks == 0) return;
  const int64_t bytes = core::ByteSize(a.pool.dtype), n = 16 / bytes;
  const bool vectors = a.pool.key_dim % n == 0 && a.pool.value_dim % n == 0 &&
                       Aligned(a.k, a.k_stride, bytes) && Aligned(a.v, a.v_stride, bytes) &&
                       Aligned(a.pool.keys, 0, 1) && Aligned(a.pool.values, 0, 1);
  if (a.pool.dtype == DType::kBFloat16) {
    Store<bf16, 8>(a, vectors, stream);
  } else {
    Require(a.pool.dtype == DType::kFloat32, "store keys and values: dtype of the pool");
    Store<float, 4>(a, vectors, stream);
  }
}

void RunAppendKv(const AppendKvArgs& a, cudaStream_t stream) {
  if (a.sequences == 0) return;
  const dim3 grid(static_cast<unsigned>(a.sequences), static_cast<unsigned>(a.table.groups));
  if (a.pool.dtype == DType::kBFloat16) {
    AppendKernel<bf16><<<grid, kThreads, 0, stream>>>(a);
  } else {
    Require(a.pool.dtype == DType::kFloat32, "append keys and values: dtype of the pool");
    AppendKernel<float><<<grid, kThreads, 0, stream>>>(a);
  }
  CheckLaunch("append keys and values");
}

}  // namespace natsl::kernels::cuda
