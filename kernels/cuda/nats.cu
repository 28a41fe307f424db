// NAtS-L's router: pooled chunk inputs, choices, page lists.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/nats.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;

__device__ int64_t FirstPosition(const ChunkPlan& plan, int64_t s) {
  return plan.first == nullptr ? 0 : plan.first[s];
}

// Rows of chunk c that earlier batches had, and whether it completes in this one.
struct ChunkPlace {
  int64_t before;
  bool complete;
};
__device__ ChunkPlace PlaceOf(const ChunkPlan& plan, int64_t c) {
  const int64_t s = plan.chunk_sequence[c];
  const int64_t position = FirstPosition(plan, s) + plan.chunk_row[c] - plan.offsets[s];
  const int64_t before = position % kPageTokens;
  return {before, before + plan.chunk_rows[c] == kPageTokens};
}

// Means of complete chunks. The sums of incomplete ones are left to PoolTailKernel, after every
// block here has read the carried sums.
template <typename T>
__global__ void __launch_bounds__(kThreads) PoolKernel(PoolChunksArgs a, ChunkPlan plan) {
  const int64_t c = blockIdx.x, column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  const int64_t s = plan.chunk_sequence[c];
  if (column >= a.hidden) return;
  T* mean = static_cast<T*>(a.mean) + c * a.hidden + column;
  const ChunkPlace place = s < 0 ? ChunkPlace{0, false} : PlaceOf(plan, c);
  if (!place.complete) {
    *mean = FromFloat<T>(0.0f);
    return;
  }
  float sum = 0;
  if (place.before > 0) sum = a.pooled[ReadSlot(a.slots, s) * a.hidden + column];
  const T* h = static_cast<const T*>(a.h) + plan.chunk_row[c] * a.h_stride + column;
#pragma unroll 8
  for (int64_t r = 0; r < plan.chunk_rows[c]; ++r) sum += ToFloat(h[r * a.h_stride]);
  *mean = FromFloat<T>(sum / float{kPageTokens});
}

template <typename T>
__global__ void __launch_bounds__(kThreads) PoolTailKernel(PoolChunksArgs a, ChunkPlan plan) {
  const int64_t s = blockIdx.x, column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  const int64_t to = WriteSlot(a.slots, s);
  if (column >= a.hidden || to < 0 || plan.sequence_chunk[s] == plan.sequence_chunk[s + 1]) return;
  const int64_t c = plan.sequence_chunk[s + 1] - 1;
  const ChunkPlace place = PlaceOf(plan, c);
  float sum = 0;
  if (!place.complete) {
    if (place.before > 0) sum = a.pooled[ReadSlot(a.slots, s) * a.hidden + column];
    const T* h = static_cast<const T*>(a.h) + plan.chunk_row[c] * a.h_stride + column;
    for (int64_t r = 0; r < plan.chunk_rows[c]; ++r) sum += ToFloat(h[r * a.h_stride]);
  }
  a.pooled[to * a.hidden + column] = sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) PoolStepKernel(PoolChunksArgs a) {
  const int64_t s = blockIdx.x, column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (column >= a.hidden) return;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  const int64_t before = a.positions[s] % kPageTokens;
  float sum = ToFloat(static_cast<const T*>(a.h)[s * a.h_stride + column]);
  if (before > 0) sum += a.pooled[from * a.hidden + column];
  const bool complete = before == kPageTokens - 1;
  static_cast<T*>(a.mean)[s * a.hidden + column] =
      FromFloat<T>(complete ? sum / float{kPageTokens} : 0.0f);
  if (to >= 0) a.pooled[to * a.hidden + column] = complete ? 0.0f : sum;
}

template <typename T>
void Pool(const PoolChunksArgs& a, cudaStream_t stream) {
  const auto columns = static_cast<unsigned>(CeilDiv(a.hidden, kThreads));
  const dim3 sequences(static_cast<unsigned>(a.sequences), columns);
  if (a.plan == nullptr) {
    PoolStepKernel<T><<<sequences, kThreads, 0, stream>>>(a);
  } else {
    const dim3 chunks(static_cast<unsigned>(a.plan->max_chunks), columns);
    PoolKernel<T><<<chunks, kThreads, 0, stream>>>(a, *a.plan);
    PoolTailKernel<T><<<sequences, kThreads, 0, stream>>>(a, *a.plan);
  }
  CheckLaunch("pool chunks");
}

template <typename T>
__global__ void ChooseKernel(ChooseChunksArgs a) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= a.rows * a.heads) return;
  const T* score =
      static_cast<const T*>(a.scores) + i / a.heads * a.scores_stride + i % a.heads * 2;
  const float s0 = ToFloat(score[0]), s1 = ToFloat(score[1]);
  bool attention = s0 >= s1;
  if (sizeof(T) == 2) {
    const float high = fmaxf(s0, s1), e0 = expf(s0 - high), e1 = expf(s1 - high);
    attention = ToFloat(FromFloat<T>(e0 / (e0 + e1))) >= ToFloat(FromFloat<T>(e1 / (e0 + e1)));
  }
  if (a.forced != nullptr && a.forced[i] <= 1) attention = a.forced[i] == 1;
  a.softmax[i] = attention ? 1 : 0;
}

// A block per (sequence, group): prefix counts of the chunks that stay, pages for them.
// `softmax` null: every chunk stays (plain attention).
__global__ void __launch_bounds__(1024)
    RouteKernel(ChunkPlan plan, const uint8_t* softmax, const int32_t* slots, PageTable table,
                ChunkPages out) {
  __shared__ int32_t sums[1024];
  __shared__ int32_t stack_top;
  const int64_t s = blockIdx.x, group = blockIdx.y, groups = table.groups;
  const int64_t first = plan.sequence_chunk[s], last = plan.sequence_chunk[s + 1];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (first == last) {
    if (thread == 0) out.released[s * groups + group] = -1;
    return;
  }
  const int64_t list = slots[s] * groups + group;
  int32_t* pages = table.pages + list * table.max_pages;
  const int32_t own = static_cast<int32_t>(FirstPosition(plan, s) % kPageTokens);
  const int32_t base = (table.keys[list] - own) / static_cast<int32_t>(kPageTokens);
  const auto stays = [&](int64_t c) {  // after the batch: complete and kept
    return PlaceOf(plan, c).complete && (softmax == nullptr || softmax[c * groups + group] != 0);
  };
  const int64_t each = (last - first + threads - 1) / threads;
  const int64_t begin = min(last, first + each * thread), end = min(last, begin + each);
  int32_t count = 0;
  for (int64_t c = begin; c < end; ++c) count += stays(c) ? 1 : 0;
  sums[thread] = count;
  __syncthreads();
  for (int d = 1; d < threads; d <<= 1) {
    const int32_t before = thread >= d ? sums[thread - d] : 0;
    __syncthreads();
    sums[thread] += before;
    __syncthreads();
  }
  const int32_t kept = sums[threads - 1];
  const ChunkPlace tail = PlaceOf(plan, last - 1);
  // A chunk begun earlier has a page already: it stays at `base`, or leaves for a fresh one.
  const bool begun = own > 0,
             begun_leaves = begun && PlaceOf(plan, first).complete && !stays(first);
  const int32_t begun_page = begun ? pages[base] : -1;
  // A page that the list still holds past its end (a chunk that left in a decode step).
  const int32_t spare = !begun && base < table.max_pages ? pages[base] : -1;
  const int32_t need = kept + (tail.complete ? 0 : 1) - (begun && !begun_leaves ? 1 : 0);
  if (thread == 0) {
    stack_top = need > 0 ? atomicSub(table.free_count, need) : 0;
    out.released[s * groups + group] = begun_leaves ? begun_page : spare;
  }
  __syncthreads();
  if (thread == 0 && (begun_leaves || spare >= 0)) pages[base] = -1;
  __syncthreads();
  const int32_t reused = begun && !begun_leaves ? 1 : 0;
  int32_t at = sums[thread] - count;  // chunks kept before this thread's
  for (int64_t c = begin; c < end; ++c) {
    const ChunkPlace place = PlaceOf(plan, c);
    const bool stay = stays(c);
    out.past[c * groups + group] = base + at;
    int32_t page = -1;
    if (c == first && begun) {
      page = begun_page;
    } else if (stay || !place.complete) {
      const int32_t index = stack_top - 1 - (at - reused);
      page = index >= 0 ? table.free[index] : -1;
      if (base + at < table.max_pages) pages[base + at] = page;
    }
    out.page[c * groups + group] = page;
    at += stay ? 1 : 0;
  }
  if (thread == 0) {
    table.keys[list] =
        (base + kept) * static_cast<int32_t>(kPageTokens) +
        (tail.complete ? 0 : static_cast<int32_t>(tail.before + plan.chunk_rows[last - 1]));
  }
}

__global__ void ReleaseKernel(const int32_t* pages, int64_t count, PageTable table) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < count && pages[i] >= 0) table.free[atomicAdd(table.free_count, 1)] = pages[i];
}

__global__ void CloseKernel(const int64_t* positions, const uint8_t* softmax, const int32_t* slots,
                            int64_t sequences, PageTable table) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= sequences * table.groups) return;
  const int64_t s = i / table.groups;
  if (positions[s] % kPageTokens != kPageTokens - 1 || softmax[i] != 0) return;
  table.keys[slots[s] * table.groups + i % table.groups] -= static_cast<int32_t>(kPageTokens);
}

void Route(const ChunkPlan& plan, const uint8_t* softmax, const int32_t* slots,
           const PageTable& table, const ChunkPages& out, cudaStream_t stream) {
  if (plan.sequences == 0) return;
  const dim3 grid(static_cast<unsigned>(plan.sequences), static_cast<unsigned>(table.groups));
  const unsigned threads = plan.max_chunks > 256 ? 1024 : 128;
  RouteKernel<<<grid, threads, 0, stream>>>(plan, softmax, slots, table, out);
  CheckLaunch("route chunks");
}

}  // namespace

int64_t ChunkPagesBytes(const ChunkPlan& plan, int64_t groups) {
  return 2 * AlignUp(plan.max_chunks * groups * 4, 256) + AlignUp(plan.sequences * groups * 4, 256);
}

ChunkPages LayOutChunkPages(const ChunkPlan& plan, int64_t groups, void* memory) {
  Carver carver(memory);
  ChunkPages pages;
  pages.past = carver.Take<int32_t>(plan.max_chunks * groups);
  pages.page = carver.Take<int32_t>(plan.max_chunks * groups);
  pages.released = carver.Take<int32_t>(plan.sequences * groups);
  return pages;
}

void RunPlanPages(const ChunkPlan& plan, const int32_t* slots, const PageTable& table,
                  const ChunkPages& out, cudaStream_t stream) {
  Route(plan, nullptr, slots, table, out, stream);
}

void RunRouteChunks(const ChunkPlan& plan, const uint8_t* softmax, const int32_t* slots,
                    const PageTable& table, const ChunkPages& out, cudaStream_t stream) {
  Require(softmax != nullptr, "route chunks: softmax is null");
  Route(plan, softmax, slots, table, out, stream);
}

void RunReleasePages(const int32_t* pages, int64_t count, const PageTable& table,
                     cudaStream_t stream) {
  if (count == 0) return;
  ReleaseKernel<<<static_cast<unsigned>(CeilDiv(count, 256)), 256, 0, stream>>>(pages, count,
                                                                                table);
  CheckLaunch("release pages");
}

void RunCloseChunks(const int64_t* positions, const uint8_t* softmax, const int32_t* slots,
                    int64_t sequences, const PageTable& table, cudaStream_t stream) {
  if (sequences == 0) return;
  const auto blocks = static_cast<unsigned>(CeilDiv(sequences * table.groups, 128));
  CloseKernel<<<blocks, 128, 0, stream>>>(positions, softmax, slots, sequences, table);
  CheckLaunch("close chunks");
}

void RunPoolChunks(const PoolChunksArgs& a, cudaStream_t stream) {
  if (a.sequences == 0) return;
  if (a.dtype == DType::kBFloat16) {
    Pool<bf16>(a, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "pool chunks: dtype isn't float32 or bfloat16");
    Pool<float>(a, stream);
  }
}

void RunChooseChunks(const ChooseChunksArgs& a, cudaStream_t stream) {
  if (a.rows * a.heads == 0) return;
  const auto blocks = static_cast<unsigned>(CeilDiv(a.rows * a.heads, 128));
  if (a.dtype == DType::kBFloat16) {
    ChooseKernel<bf16><<<blocks, 128, 0, stream>>>(a);
  } else {
    Require(a.dtype == DType::kFloat32, "choose chunks: dtype isn't float32 or bfloat16");
    ChooseKernel<float><<<blocks, 128, 0, stream>>>(a);
  }
  CheckLaunch("choose chunks");
}

}  // namespace natsl::kernels::cuda
