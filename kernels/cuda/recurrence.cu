// The recurrent mixers token by token. A thread keeps rows of one column of a head's state in
// registers; four neighbouring lanes share a column, a warp has eight columns.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/recurrence.h"

namespace natsl::kernels::cuda {
namespace {

constexpr int kTokens = 8;  // staged at once
constexpr int kThreads = 64;
constexpr int kColumns = kThreads / 4;

template <typename T, int kRows, bool kDelta>
__global__ void __launch_bounds__(kThreads) RecurrenceKernel(Recurrence a) {
  constexpr int kPadded = 4 * kRows;
  __shared__ float q_rows[kTokens][kPadded], k_rows[kTokens][kPadded];
  __shared__ float decays[kDelta ? 1 : kTokens][kDelta ? 1 : kPadded];
  __shared__ float scalar_decay[kTokens], betas[kTokens], products[kTokens];
  const int64_t s = blockIdx.z, head = blockIdx.y;
  const int64_t begin = a.offsets == nullptr ? s : a.offsets[s];
  const int64_t end = a.offsets == nullptr ? s + 1 : a.offsets[s + 1];
  if (begin == end) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = lane % 4;
  const int64_t column = blockIdx.x * int64_t{kColumns} + warp * 8 + lane / 4;
  const int key_dim = static_cast<int>(a.key_dim);
  const bool live = column < a.value_dim;
  const int64_t size = a.key_dim * a.value_dim;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  const auto row_of = [&](int r) { return 16 * (r / 4) + 4 * part + r % 4; };
  const auto cell_of = [&](int r) { return row_of(r) * a.value_dim + column; };

  float state[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    state[r] = live && from >= 0 && row_of(r) < key_dim
                   ? a.state[(from * a.heads + head) * size + cell_of(r)]
                   : 0.0f;
  }
  // NAtS-L: where the chunk's start is kept, and the decay since.
  float* start = nullptr;
  float log_decay = 0;
  int64_t position = a.first == nullptr ? 0 : a.first[s];
  const int64_t first_chunk = position / kPageTokens;
  if (kDelta && a.nats) {
    const NatsDelta& nats = a.nats_state;
    start = a.offsets == nullptr ? nats.chunk_start + (to * a.heads + head) * size
                                 : a.chunk_start + (s * a.heads + head) * size;
    if (position % kPageTokens != 0) {
      const float* old = nats.chunk_start + (from * a.heads + head) * size;
      log_decay = nats.chunk_log_decay[from * a.heads + head];
      if (live && old != start) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (row_of(r) < key_dim) start[cell_of(r)] = old[cell_of(r)];
        }
      }
    }
  }

  const T* q = static_cast<const T*>(a.q) + head / a.q_share * a.key_dim;
  const T* k = static_cast<const T*>(a.k) + head / a.k_share * a.key_dim;
  const T* v = static_cast<const T*>(a.v) + head / a.v_share * a.value_dim;
  T* o = static_cast<T*>(a.o) + head * a.value_dim;
  const int64_t k_head = head / a.k_share, k_heads = a.heads / a.k_share;
  for (int64_t t0 = begin; t0 < end; t0 += kTokens) {
    const int count = static_cast<int>(min(int64_t{kTokens}, end - t0));
    __syncthreads();
    for (int i = warp; i < count; i += kThreads / 32) {
      const int64_t t = t0 + i;
      float q_squares = 0, k_squares = 0, product = 0;
      for (int c = lane; c < kPadded; c += 32) {
        const float qc = c < key_dim ? ToFloat(q[t * a.q_stride + c]) : 0.0f;
        const float kc = c < key_dim ? ToFloat(k[t * a.k_stride + c]) : 0.0f;
        q_squares += qc * qc;
        k_squares += kc * kc;
        product +=
            a.bonus == nullptr || c >= key_dim ? qc * kc : qc * kc * a.bonus[head * key_dim + c];
        q_rows[i][c] = qc;
        k_rows[i][c] = kc;
        if (!kDelta && a.decay == DecayKind::kVectorPerToken) {
          decays[kDelta ? 0 : i][kDelta ? 0 : c] =
              c < key_dim ? expf(a.g[(t * k_heads + k_head) * a.key_dim + c]) : 1.0f;
        }
      }
      product = LaneSum(product);
      if (a.normalize_qk) {
        const float q_factor = rsqrtf(LaneSum(q_squares) + 1e-6f);
        const float k_factor = rsqrtf(LaneSum(k_squares) + 1e-6f);
        for (int c = lane; c < kPadded; c += 32) {
          q_rows[i][c] *= q_factor;
          k_rows[i][c] *= k_factor;
        }
        product *= q_factor * k_factor;
      }
      if (lane == 0) {
        products[i] = product;
        float g = 0;
        if (a.g != nullptr && a.decay != DecayKind::kVectorPerToken) {
          g = a.decay == DecayKind::kScalarPerHead ? a.g[head] : a.g[t * a.heads + head];
        }
        scalar_decay[i] = g;
        betas[i] = a.beta == nullptr ? 1.0f : a.beta[t * a.heads + head];
      }
    }
    __syncthreads();
    for (int i = 0; i < count; ++i, ++position) {
      const int64_t t = t0 + i;
      const float value = live ? ToFloat(v[t * a.v_stride + column]) : 0.0f;
      const float decay = expf(scalar_decay[i]);
      if (kDelta && a.nats) {
        if (position % kPageTokens == 0) {
          log_decay = 0;
          if (live) {
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
              if (row_of(r) < key_dim) start[cell_of(r)] = state[r];
            }
          }
        }
        log_decay += scalar_decay[i];
      }
      float seen = 0, read = 0;
#pragma unroll
      for (int m = 0; m < kRows / 4; ++m) {
        float kr[4], qr[4], dr[4];
        Load<float, 4>(&k_rows[i][16 * m + 4 * part], kr);
        Load<float, 4>(&q_rows[i][16 * m + 4 * part], qr);
        const bool vector = !kDelta && a.decay == DecayKind::kVectorPerToken;
        if (vector) Load<float, 4>(&decays[kDelta ? 0 : i][kDelta ? 0 : 16 * m + 4 * part], dr);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& cell = state[4 * m + e];
          if (!kDelta && a.bonus != nullptr) read += qr[e] * cell;
          cell *= vector ? dr[e] : decay;
          if (kDelta) seen += kr[e] * cell;
          if (kDelta || a.bonus == nullptr) read += qr[e] * cell;
          if (!kDelta) cell += kr[e] * value;
        }
      }
      float update = value;
      if (kDelta) {
        seen = LaneSum(seen, 4);
        update = betas[i] * (value - seen);
#pragma unroll
        for (int m = 0; m < kRows / 4; ++m) {
          float kr[4];
          Load<float, 4>(&k_rows[i][16 * m + 4 * part], kr);
#pragma unroll
          for (int e = 0; e < 4; ++e) state[4 * m + e] += kr[e] * update;
        }
      }
      if (kDelta && a.nats && a.nats_state.own_chunk == OwnChunkRule::kPastOnly) {
        read = 0;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (live && row_of(r) < key_dim) read += q_rows[i][row_of(r)] * start[cell_of(r)];
        }
        read = LaneSum(read, 4) * expf(log_decay);
      } else {
        read = LaneSum(read, 4) + products[i] * update;
      }
      if (live && part == 0) o[t * a.o_stride + column] = FromFloat<T>(read * a.scale);
      if (kDelta && a.nats && position % kPageTokens == kPageTokens - 1) {
        const int64_t row =
            a.offsets == nullptr ? s : a.sequence_chunk[s] + position / kPageTokens - first_chunk;
        const int64_t share = a.heads / a.nats_state.softmax_heads;
        if (a.nats_state.softmax[row * a.nats_state.softmax_heads + head / share] != 0) {
          const float back = a.nats_state.decay_over_softmax_chunks ? expf(log_decay) : 1.0f;
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            if (live && row_of(r) < key_dim) state[r] = back * start[cell_of(r)];
          }
        }
      }
    }
  }
  if (to < 0 || !live) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row_of(r) < key_dim) a.state[(to * a.heads + head) * size + cell_of(r)] = state[r];
  }
  if (kDelta && a.nats && a.offsets != nullptr && position % kPageTokens != 0) {
    float* kept = a.nats_state.chunk_start + (to * a.heads + head) * size;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (row_of(r) < key_dim) kept[cell_of(r)] = start[cell_of(r)];
    }
  }
}

__global__ void LogDecayKernel(Recurrence a) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i >= a.sequences * a.heads) return;
  const int64_t s = i / a.heads, head = i % a.heads;
  const int64_t begin = a.offsets == nullptr ? s : a.offsets[s];
  const int64_t end = a.offsets == nullptr ? s + 1 : a.offsets[s + 1];
  const int64_t to = WriteSlot(a.slots, s);
  if (begin == end || to < 0) return;
  const int64_t first = a.first == nullptr ? 0 : a.first[s];
  const int64_t last = first + end - begin;                      // one past
  const int64_t chunk = (last - 1) / kPageTokens * kPageTokens;  // start of the last row's chunk
  float sum = 0;
  if (first > chunk) {
    sum = a.nats_state.chunk_log_decay[ReadSlot(a.slots, s) * a.heads + head];
  }
  const int64_t from = begin + max(int64_t{0}, chunk - first);
  for (int64_t t = from; a.g != nullptr && t < end; ++t) sum += a.g[t * a.heads + head];
  a.nats_state.chunk_log_decay[to * a.heads + head] = sum;
}

template <typename T, bool kDelta>
void Launch(const Recurrence& a, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(CeilDiv(a.value_dim, kColumns)),
                  static_cast<unsigned>(a.heads), static_cast<unsigned>(a.sequences));
  if (a.key_dim <= 32) {
    RecurrenceKernel<T, 8, kDelta><<<grid, kThreads, 0, stream>>>(a);
  } else if (a.key_dim <= 128) {
    RecurrenceKernel<T, 32, kDelta><<<grid, kThreads, 0, stream>>>(a);
  } else {
    RecurrenceKernel<T, 64, kDelta><<<grid, kThreads, 0, stream>>>(a);
  }
}

}  // namespace

void RunRecurrence(const Recurrence& a, cudaStream_t stream) {
  Require(a.key_dim >= 1 && a.key_dim <= 256, "recurrent mixer: key_dim isn't 1 to 256");
  Require(a.sequences <= 65535 && a.heads <= 65535, "recurrent mixer: more than 65,535 sequences");
  if (a.sequences == 0) return;
  if (a.dtype == DType::kBFloat16) {
    a.delta ? Launch<bf16, true>(a, stream) : Launch<bf16, false>(a, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "recurrent mixer: dtype isn't float32 or bfloat16");
    a.delta ? Launch<float, true>(a, stream) : Launch<float, false>(a, stream);
  }
  CheckLaunch("recurrent mixer");
}

void RunChunkLogDecay(const Recurrence& a, cudaStream_t stream) {
  if (a.sequences == 0) return;
  const auto blocks = static_cast<unsigned>(CeilDiv(a.sequences * a.heads, 128));
  LogDecayKernel<<<blocks, 128, 0, stream>>>(a);
  CheckLaunch("chunk log decay");
}

}  // namespace natsl::kernels::cuda
