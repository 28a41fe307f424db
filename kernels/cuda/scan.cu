// The elementwise scan in three passes over strips of 64 rows: strip totals, the state before each
// strip, the outputs.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/scan.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;

struct Totals {
  float* decay;  ///< [max_chunks, C], the product over the strip
  float* value;  ///< [max_chunks, C], the strip's end from zero; then the state before the strip
};

Totals LayOut(Carver& carver, const ScanArgs& a) {
  Totals totals{};
  if (a.plan == nullptr) return totals;
  totals.decay = carver.Take<float>(a.plan->max_chunks * a.channels);
  totals.value = carver.Take<float>(a.plan->max_chunks * a.channels);
  return totals;
}

// N channels a thread. `outputs`: second time over, from the state before the strip.
template <typename T, int N, bool kOutputs>
__global__ void __launch_bounds__(kThreads) StripKernel(ScanArgs a, ChunkPlan plan, Totals totals) {
  const int64_t c = blockIdx.x;
  const int64_t column = (blockIdx.y * int64_t{kThreads} + threadIdx.x) * N;
  if (plan.chunk_sequence[c] < 0 || column >= a.channels) return;
  const int64_t first = plan.chunk_row[c], rows = plan.chunk_rows[c];
  float state[N], decay[N];
#pragma unroll
  for (int e = 0; e < N; ++e) {
    state[e] = kOutputs ? totals.value[c * a.channels + column + e] : 0.0f;
    decay[e] = 1.0f;
  }
#pragma unroll 4
  for (int64_t r = first; r < first + rows; ++r) {
    float x[N], g[N];
    Load<T, N>(static_cast<const T*>(a.x) + r * a.x_stride + column, x);
    Load<float, N>(a.g + r * a.channels + column, g);
#pragma unroll
    for (int e = 0; e < N; ++e) {
      const float d = __expf(g[e]);
      state[e] = d * state[e] + x[e];
      if (!kOutputs) decay[e] *= d;
    }
    if (kOutputs) Store<T, N>(static_cast<T*>(a.o) + r * a.o_stride + column, state);
  }
  if (!kOutputs) {
    Store<float, N>(totals.decay + c * a.channels + column, decay);
    Store<float, N>(totals.value + c * a.channels + column, state);
  }
}

// A thread a channel walks its sequence's strips.
__global__ void __launch_bounds__(kThreads) CarryKernel(ScanArgs a, ChunkPlan plan, Totals totals) {
  const int64_t s = blockIdx.x;
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (column >= a.channels) return;
  const int64_t first = plan.sequence_chunk[s], last = plan.sequence_chunk[s + 1];
  if (first == last) return;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  float state = from < 0 ? 0.0f : a.state[from * a.channels + column];
  constexpr int kAhead = 16;
  for (int64_t c = first; c < last; c += kAhead) {
    float decay[kAhead], value[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (c + i < last) {
        decay[i] = totals.decay[(c + i) * a.channels + column];
        value[i] = totals.value[(c + i) * a.channels + column];
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (c + i < last) {
        totals.value[(c + i) * a.channels + column] = state;
        state = decay[i] * state + value[i];
      }
    }
  }
  if (to >= 0) a.state[to * a.channels + column] = state;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) StepKernel(ScanArgs a) {
  const int64_t s = blockIdx.x;
  const int64_t column = blockIdx.y * int64_t{kThreads} + threadIdx.x;
  if (column >= a.channels) return;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  const float before = from < 0 ? 0.0f : a.state[from * a.channels + column];
  const float after = __expf(a.g[s * a.channels + column]) * before +
                      ToFloat(static_cast<const T*>(a.x)[s * a.x_stride + column]);
  static_cast<T*>(a.o)[s * a.o_stride + column] = FromFloat<T>(after);
  if (to >= 0) a.state[to * a.channels + column] = after;
}

template <typename T, int N>
void Strips(const ScanArgs& a, const Totals& totals, cudaStream_t stream) {
  const ChunkPlan& plan = *a.plan;
  const dim3 grid(static_cast<unsigned>(plan.max_chunks),
                  static_cast<unsigned>(CeilDiv(a.channels, kThreads * N)));
  const dim3 carry(static_cast<unsigned>(a.sequences),
                   static_cast<unsigned>(CeilDiv(a.channels, kThreads)));
  StripKernel<T, N, false><<<grid, kThreads, 0, stream>>>(a, plan, totals);
  CarryKernel<<<carry, kThreads, 0, stream>>>(a, plan, totals);
  StripKernel<T, N, true><<<grid, kThreads, 0, stream>>>(a, plan, totals);
}

template <typename T>
void Launch(const ScanArgs& a, const Totals& totals, bool vectors, cudaStream_t stream) {
  if (a.plan == nullptr) {
    const dim3 grid(static_cast<unsigned>(a.sequences),
                    static_cast<unsigned>(CeilDiv(a.channels, kThreads)));
    StepKernel<T><<<grid, kThreads, 0, stream>>>(a);
  } else if (vectors) {
    Strips<T, 4>(a, totals, stream);
  } else {
    Strips<T, 1>(a, totals, stream);
  }
  CheckLaunch("scan");
}

}  // namespace

int64_t ScanWorkspaceBytes(const ScanArgs& a) {
  Carver carver(nullptr);
  LayOut(carver, a);
  return carver.used();
}

void RunScan(const ScanArgs& a, cudaStream_t stream) {
  if (a.sequences == 0 || (a.plan != nullptr && a.plan->tokens == 0)) return;
  Carver carver(a.workspace);
  const Totals totals = LayOut(carver, a);
  const int64_t bytes = core::ByteSize(a.dtype);
  const bool vectors = a.channels % 4 == 0 && Aligned(a.x, a.x_stride, bytes) &&
                       Aligned(a.o, a.o_stride, bytes) && Aligned(a.g, 4, 4);
  if (a.dtype == DType::kBFloat16) {
    Launch<bf16>(a, totals, vectors, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "scan: dtype isn't float32 or bfloat16");
    Launch<float>(a, totals, vectors, stream);
  }
}

}  // namespace natsl::kernels::cuda
