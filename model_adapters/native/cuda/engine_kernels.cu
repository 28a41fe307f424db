// The engine's own small kernels. No Torch header here: nvcc takes a minute over one.
#include "model_adapters/native/cuda/engine_kernels.h"
#include "model_adapters/native/cuda/forced_choice.cuh"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::kPageTokens;
using kernels::cuda::ChunkPlan;
using kernels::cuda::PageTable;

constexpr int kThreads = 128;

__global__ void NothingKernel() {}

__device__ int PagesOf(int keys) { return (keys + 63) / 64; }

// grid: (pairs, layers, groups)
__global__ void ForkListsKernel(const KvLayerView* layers, const int32_t* pairs) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t group = blockIdx.z;
  if (group >= layer.table.groups) return;
  const int64_t source = pairs[2 * blockIdx.x] * layer.table.groups + group;
  const int64_t target = pairs[2 * blockIdx.x + 1] * layer.table.groups + group;
  const int keys = layer.table.keys[source];
  const int pages = PagesOf(keys);
  const int full = keys / 64;
  const int32_t* from = layer.table.pages + source * layer.table.max_pages;
  int32_t* to = layer.table.pages + target * layer.table.max_pages;
  __shared__ int32_t copy;
  if (threadIdx.x == 0) {
    layer.table.keys[target] = keys;
    copy = -1;
    if (pages > full) {
      copy = layer.table.free[atomicSub(layer.table.free_count, 1) - 1];
      to[full] = copy;
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < full; i += kThreads) {
    to[i] = from[i];
    if (from[i] >= 0) atomicAdd(layer.more_owners + from[i], 1);  // else outside the window
  }
  __syncthreads();
  if (copy < 0) return;
  const auto move = [&](char* pool, int64_t bytes) {
    const auto* s = reinterpret_cast<const int4*>(pool + from[full] * bytes);
    auto* t = reinterpret_cast<int4*>(pool + copy * bytes);
    for (int64_t i = threadIdx.x; i < bytes / 16; i += kThreads) t[i] = s[i];
  };
  move(layer.keys, layer.key_page_bytes);
  move(layer.values, layer.value_page_bytes);
}

// One owner less; the last one frees the page. Two lists of one launch may both hold it.
__device__ void GiveBack(const KvLayerView& layer, int32_t page) {
  if (atomicSub(layer.more_owners + page, 1) != 0) return;
  layer.more_owners[page] = 0;
  layer.table.free[atomicAdd(layer.table.free_count, 1)] = page;
}

// grid: (lists, layers, groups)
__global__ void ReleaseListsKernel(const KvLayerView* layers, const int32_t* lists) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t group = blockIdx.z;
  if (group >= layer.table.groups) return;
  const int64_t list = lists[blockIdx.x] * layer.table.groups + group;
  int32_t* held = layer.table.pages + list * layer.table.max_pages;
  // Past its end a list may hold a page in reserve; then come -1 alone.
  const int end = PagesOf(layer.table.keys[list]);
  for (int64_t begin = 0; begin < layer.table.max_pages; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    const int32_t page = i < layer.table.max_pages ? held[i] : -1;
    if (page >= 0) {
      held[i] = -1;
      GiveBack(layer, page);
    }
    if (!__syncthreads_or(page >= 0) && begin >= end) break;
  }
  if (threadIdx.x == 0) layer.table.keys[list] = 0;
}

// grid: (lists, layers, groups)
__global__ void DropHiddenKernel(const KvLayerView* layers, const int32_t* lists, bool gaps) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t group = blockIdx.z;
  if (group >= layer.table.groups) return;
  const int64_t list = lists[blockIdx.x] * layer.table.groups + group;
  int32_t* held = layer.table.pages + list * layer.table.max_pages;
  // From the back: what an earlier launch dropped lies in front, unless there are gaps.
  for (int64_t end = HiddenPages(layer.table.keys[list], layer.window); end > 0; end -= kThreads) {
    const int64_t i = end - 1 - threadIdx.x;
    const int32_t page = i >= 0 ? held[i] : -1;
    if (page >= 0) {
      held[i] = -1;
      GiveBack(layer, page);
    }
    if (!__syncthreads_or(page >= 0) && !gaps) break;
  }
}

// Blocks that copy one list's pages.
constexpr unsigned kSlices = 32;

// What a list becomes. Read before its keys rise.
struct Lengthened {
  KvLayerView layer;
  int64_t list;
  int whole, more;
  int hidden, skipped;  // of the pages held, and of the new ones in front of the window
  int32_t* pages;

  __device__ Lengthened(const KvLayerView* layers, int64_t layer_index, int64_t group, int32_t slot,
                        int64_t chunks, int64_t added)
      : layer(layers[layer_index]), list(slot * layer.table.groups + group) {
    pages = layer.table.pages + list * layer.table.max_pages;
    whole = more = hidden = skipped = 0;
    if (group >= layer.table.groups) return;
    const int64_t keys = layer.table.keys[list];
    whole = static_cast<int>(keys / 64);
    more = static_cast<int>(layer.selected ? (whole * added + chunks / 2) / chunks : added);
    hidden = static_cast<int>(HiddenPages(keys, layer.window));
    skipped = max(0, static_cast<int>(HiddenPages(keys + 64 * more, layer.window)) - whole);
  }
};

// grid: (lists, layers, groups)
__global__ void TakePagesKernel(const KvLayerView* layers, const int32_t* lists, int64_t chunks,
                                int64_t added) {
  const Lengthened l(layers, blockIdx.y, blockIdx.z, lists[blockIdx.x], chunks, added);
  if (l.more == 0) return;
  __shared__ int32_t top, tail;
  if (threadIdx.x == 0) {
    top = atomicSub(l.layer.table.free_count, l.more - l.skipped);
    tail = l.pages[l.whole];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < l.more; i += kThreads) {
    const int taken = i - l.skipped;
    l.pages[l.whole + i] = taken < 0 ? -1 : l.layer.table.free[top - 1 - taken];
  }
  if (threadIdx.x == 0) l.pages[l.whole + l.more] = tail;
}

// grid: (lists * kSlices, layers, groups)
__global__ void CopyPagesKernel(const KvLayerView* layers, const int32_t* lists, int64_t chunks,
                                int64_t added) {
  const Lengthened l(layers, blockIdx.y, blockIdx.z, lists[blockIdx.x / kSlices], chunks, added);
  for (int i = l.skipped + static_cast<int>(blockIdx.x % kSlices); i < l.more; i += kSlices) {
    const int32_t source = l.pages[l.hidden + i % (l.whole - l.hidden)];
    const auto move = [&](char* pool, int64_t bytes) {
      const auto* s = reinterpret_cast<const int4*>(pool + source * bytes);
      auto* t = reinterpret_cast<int4*>(pool + l.pages[l.whole + i] * bytes);
      for (int64_t b = threadIdx.x; b < bytes / 16; b += kThreads) t[b] = s[b];
    };
    move(l.layer.keys, l.layer.key_page_bytes);
    move(l.layer.values, l.layer.value_page_bytes);
  }
}

// grid: (lists, layers, groups), one thread
__global__ void RaiseKeysKernel(const KvLayerView* layers, const int32_t* lists, int64_t chunks,
                                int64_t added) {
  const Lengthened l(layers, blockIdx.y, blockIdx.z, lists[blockIdx.x], chunks, added);
  if (l.more > 0) l.layer.table.keys[l.list] += 64 * l.more;
}

// grid: (lists, layers)
__global__ void CountSelectedKernel(const KvLayerView* layers, const int32_t* lists, int64_t heads,
                                    int32_t* counts) {
  const KvLayerView layer = layers[blockIdx.y];
  const int64_t groups = layer.table.groups, list = lists[blockIdx.x];
  if (!layer.selected) return;
  for (int64_t group = threadIdx.x; group < groups; group += kThreads) {
    const int32_t keys = list < 0 ? 0 : layer.table.keys[list * groups + group];
    // Behind the whole chunks lie the keys of one that isn't complete.
    counts[blockIdx.x * heads + layer.first_head + group] = keys / int32_t{kPageTokens};
  }
}

// The absolute position of chunk entry c's first row; -1: unused.
__device__ int64_t ChunkPosition(const ChunkPlan& plan, int64_t c) {
  const int32_t s = plan.chunk_sequence[c];
  if (s < 0) return -1;
  return (plan.first == nullptr ? 0 : plan.first[s]) + plan.chunk_row[c] - plan.offsets[s];
}

__global__ void ForceChoicesKernel(ChunkPlan plan, const int64_t* positions, int64_t rows,
                                   int64_t heads, int64_t layer, double share, uint8_t* forced) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * heads) return;
  const int64_t position =
      positions != nullptr ? positions[i / heads] : ChunkPosition(plan, i / heads);
  forced[i] = position >= 0 && Forced(layer, position / kPageTokens, i % heads, share) ? 1 : 0;
}

__global__ void CountChoicesKernel(ChunkPlan plan, const int64_t* positions, int64_t rows,
                                   int64_t heads, const uint8_t* softmax,
                                   unsigned long long* counts) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * heads) return;
  const int64_t row = i / heads, head = i % heads;
  int64_t last;
  if (positions != nullptr) {
    last = positions[row];
  } else {
    const int64_t position = ChunkPosition(plan, row);
    if (position < 0 || plan.chunk_rows[row] == 0) return;
    last = position + plan.chunk_rows[row] - 1;
  }
  if (last % kPageTokens != kPageTokens - 1) return;
  if (softmax[i]) atomicAdd(counts + 2 * head, 1ull);
  atomicAdd(counts + 2 * head + 1, 1ull);
}

__global__ void BeginStepKernel(const int32_t* ids, int64_t count, int32_t* history, int64_t* step,
                                int64_t* positions) {
  const int64_t row = *step;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    history[row * count + i] = ids[i];
    ++positions[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) *step = row + 1;
}

dim3 GridOf(int64_t count, int64_t layers, int64_t groups) {
  return dim3(static_cast<unsigned>(count), static_cast<unsigned>(layers),
              static_cast<unsigned>(groups));
}

unsigned BlocksOf(int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

bool KernelsRunHere() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, NothingKernel) == cudaSuccess;
}

void RunForkLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                  const int32_t* pairs, int64_t count, cudaStream_t stream) {
  if (count == 0 || layer_count == 0) return;
  ForkListsKernel<<<GridOf(count, layer_count, most_groups), kThreads, 0, stream>>>(layers, pairs);
  kernels::cuda::Check(cudaGetLastError(), "fork lists");
}

void RunReleaseLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                     const int32_t* lists, int64_t count, cudaStream_t stream) {
  if (count == 0 || layer_count == 0) return;
  ReleaseListsKernel<<<GridOf(count, layer_count, most_groups), kThreads, 0, stream>>>(layers,
                                                                                       lists);
  kernels::cuda::Check(cudaGetLastError(), "release lists");
}

void RunDropHidden(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                   const int32_t* lists, int64_t count, bool gaps, cudaStream_t stream) {
  if (count == 0 || layer_count == 0) return;
  DropHiddenKernel<<<GridOf(count, layer_count, most_groups), kThreads, 0, stream>>>(layers, lists,
                                                                                     gaps);
  kernels::cuda::Check(cudaGetLastError(), "drop hidden pages");
}

void RunLengthenLists(const KvLayerView* layers, int64_t layer_count, int64_t most_groups,
                      const int32_t* lists, int64_t count, int64_t chunks, int64_t added,
                      cudaStream_t stream) {
  if (count == 0 || layer_count == 0 || added == 0) return;
  const dim3 grid = GridOf(count, layer_count, most_groups);
  TakePagesKernel<<<grid, kThreads, 0, stream>>>(layers, lists, chunks, added);
  CopyPagesKernel<<<GridOf(count * kSlices, layer_count, most_groups), kThreads, 0, stream>>>(
      layers, lists, chunks, added);
  RaiseKeysKernel<<<grid, 1, 0, stream>>>(layers, lists, chunks, added);
  kernels::cuda::Check(cudaGetLastError(), "lengthen lists");
}

void RunCountSelected(const KvLayerView* layers, int64_t layer_count, const int32_t* lists,
                      int64_t count, int64_t heads, int32_t* counts, cudaStream_t stream) {
  if (count == 0 || heads == 0) return;
  CountSelectedKernel<<<GridOf(count, layer_count, 1), kThreads, 0, stream>>>(layers, lists, heads,
                                                                              counts);
  kernels::cuda::Check(cudaGetLastError(), "count selected chunks");
}

void RunForceChoices(const ForceChoicesArgs& args, cudaStream_t stream) {
  const ChunkPlan plan = args.plan == nullptr ? ChunkPlan() : *args.plan;
  const int64_t rows = args.plan == nullptr ? args.rows : plan.max_chunks;
  if (rows * args.heads == 0) return;
  ForceChoicesKernel<<<BlocksOf(rows * args.heads), kThreads, 0, stream>>>(
      plan, args.plan == nullptr ? args.positions : nullptr, rows, args.heads, args.layer,
      args.share, args.forced);
  kernels::cuda::Check(cudaGetLastError(), "force choices");
}

void RunCountChoices(const CountChoicesArgs& args, cudaStream_t stream) {
  const ChunkPlan plan = args.plan == nullptr ? ChunkPlan() : *args.plan;
  const int64_t rows = args.plan == nullptr ? args.rows : plan.max_chunks;
  if (rows * args.heads == 0) return;
  CountChoicesKernel<<<BlocksOf(rows * args.heads), kThreads, 0, stream>>>(
      plan, args.plan == nullptr ? args.positions : nullptr, rows, args.heads, args.softmax,
      args.counts);
  kernels::cuda::Check(cudaGetLastError(), "count choices");
}

void RunBeginStep(const int32_t* ids, int64_t count, int32_t* history, int64_t* step,
                  int64_t* positions, cudaStream_t stream) {
  BeginStepKernel<<<1, kThreads, 0, stream>>>(ids, count, history, step, positions);
  kernels::cuda::Check(cudaGetLastError(), "begin step");
}

}  // namespace natsl::model_adapters::native::cuda
