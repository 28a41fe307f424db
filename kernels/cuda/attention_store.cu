// Writes the keys and values of a prefill into pages.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;

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

}  // namespace natsl::kernels::cuda
