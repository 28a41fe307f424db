// One cluster a (sequence, head): its blocks share the head's keys, each has 32 value columns. Four
// neighbouring lanes share a column of the state, which is in registers before the projections are
// there. Every block convolves the head's q and k for itself; the first one leaves their tails,
// after all have read them.
#include "kernels/cuda/delta_step.h"
#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kColumns = kThreads / 4;
constexpr int kTail = 3;             // rows before the current one
constexpr unsigned kMostBlocks = 8;  // of a cluster that runs on any device

// What a thread knows of a channel before its input is there.
struct Channel {
  int64_t column = -1;  // of x and of the tails; -1: none
  float4 weight;
  float bias, tail[kTail];

  __device__ void ReadAhead(const DeltaStepArgs& a, int64_t from) {
    weight = *reinterpret_cast<const float4*>(a.conv_weight + column * 4);
    bias = a.conv_bias == nullptr ? 0.0f : a.conv_bias[column];
#pragma unroll
    for (int j = 0; j < kTail; ++j) {
      tail[j] = from < 0 ? 0.0f : a.tails[(from * kTail + j) * a.channels + column];
    }
  }
  // SiLU of the convolution at input x, rounded as the activations are.
  template <typename T>
  __device__ float Convolve(float x) const {
    const float sum =
        bias + weight.x * tail[0] + weight.y * tail[1] + weight.z * tail[2] + weight.w * x;
    return ToFloat(FromFloat<T>(Silu(sum)));
  }
  __device__ void Leave(const DeltaStepArgs& a, int64_t to, float x) const {
    if (to < 0) return;
    float* out = a.tails + to * kTail * a.channels + column;
    out[0] = tail[1];
    out[a.channels] = tail[2];
    out[2 * a.channels] = x;
  }
};

// kRows: of a thread's part of a state column, a quarter of K rounded up.
template <typename T, int kRows>
__global__ void __launch_bounds__(kThreads)
    StepKernel(DeltaStepArgs a, NatsDelta nats, bool chunks) {
#if __CUDA_ARCH__ >= 900
  constexpr int kPadded = 4 * kRows, kKeyItems = (kPadded + kThreads - 1) / kThreads;
  __shared__ float q_row[kPadded], k_row[kPadded], v_row[kColumns], sums[3][kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, part = lane % 4;
  const int64_t s = blockIdx.z, head = blockIdx.y;
  const int64_t column = blockIdx.x * int64_t{kColumns} + thread / 4;
  const int key_dim = static_cast<int>(a.key_dim);
  const bool live = column < a.value_dim;
  const int64_t from = ReadSlot(a.slots, s), to = WriteSlot(a.slots, s);
  const int64_t size = a.key_dim * a.value_dim;
  const auto row_of = [&](int r) { return 16 * (r / 4) + 4 * part + r % 4; };
  const auto cell_of = [&](int r) { return row_of(r) * a.value_dim + column; };
  const auto usable = [&](int r) { return live && row_of(r) < key_dim; };

  float state[kRows];
  const float* old_state = a.state + (from * a.heads + head) * size;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    state[r] = from >= 0 && usable(r) ? old_state[cell_of(r)] : 0.0f;
  }
  Channel q_channel[kKeyItems], k_channel[kKeyItems], v_channel;
#pragma unroll
  for (int j = 0; j < kKeyItems; ++j) {
    const int c = thread + j * kThreads;
    if (c >= key_dim) continue;
    q_channel[j].column = a.q_at + head * key_dim + c;
    k_channel[j].column = a.k_at + head * key_dim + c;
    q_channel[j].ReadAhead(a, from);
    k_channel[j].ReadAhead(a, from);
  }
  const int64_t v_column = blockIdx.x * int64_t{kColumns} + thread;
  if (thread < kColumns && v_column < a.value_dim) {
    v_channel.column = a.v_at + head * a.value_dim + v_column;
    v_channel.ReadAhead(a, from);
  }
  const float negative_a = a.a == nullptr ? 0.0f : a.negative_a[head];
  const float dt_bias = a.a == nullptr ? 0.0f : a.dt_bias[head];
  const int64_t position = chunks ? a.positions[s] : 0;
  float log_decay = 0;
  if (chunks && position % kPageTokens != 0)
    log_decay = nats.chunk_log_decay[from * a.heads + head];
  // The cluster has read its tails and the log decay.
  asm volatile("barrier.cluster.arrive.release.aligned;\n" ::: "memory");

  AwaitPrevious();
  const T* x = static_cast<const T*>(a.x) + s * a.x_stride;
  T* mixed = a.mixed == nullptr ? nullptr : static_cast<T*>(a.mixed) + s * a.mixed_stride;
  float q_new[kKeyItems], k_new[kKeyItems], v_new = 0;
#pragma unroll
  for (int j = 0; j < kKeyItems; ++j) {
    q_new[j] = q_channel[j].column < 0 ? 0.0f : ToFloat(x[q_channel[j].column]);
    k_new[j] = k_channel[j].column < 0 ? 0.0f : ToFloat(x[k_channel[j].column]);
  }
  if (v_channel.column >= 0) v_new = ToFloat(x[v_channel.column]);
  float g = 0, beta = static_cast<float>(a.beta_scale);
  if (a.a != nullptr) {
    g = ToFloat(static_cast<const T*>(a.a)[s * a.a_stride + head]);
    g = negative_a * Softplus(g + dt_bias);
  }
  if (a.b != nullptr) beta *= Sigmoid(ToFloat(static_cast<const T*>(a.b)[s * a.b_stride + head]));

  float q_squares = 0, k_squares = 0, product = 0;
#pragma unroll
  for (int j = 0; j < kKeyItems; ++j) {
    const int c = thread + j * kThreads;
    if (c >= kPadded) continue;
    float q = 0, k = 0;
    if (q_channel[j].column >= 0) {
      q = q_channel[j].template Convolve<T>(q_new[j]);
      k = k_channel[j].template Convolve<T>(k_new[j]);
      if (mixed != nullptr && blockIdx.x == 0) {
        mixed[q_channel[j].column] = FromFloat<T>(q);
        mixed[k_channel[j].column] = FromFloat<T>(k);
      }
    }
    q_row[c] = q;
    k_row[c] = k;
    q_squares += q * q;
    k_squares += k * k;
    product += q * k;
  }
  if (v_channel.column >= 0) {
    v_row[thread] = v_channel.template Convolve<T>(v_new);
    if (mixed != nullptr) mixed[v_channel.column] = FromFloat<T>(v_row[thread]);
    v_channel.Leave(a, to, v_new);
  }
  q_squares = LaneSum(q_squares);
  k_squares = LaneSum(k_squares);
  product = LaneSum(product);
  if (lane == 0) {
    sums[0][thread / 32] = q_squares;
    sums[1][thread / 32] = k_squares;
    sums[2][thread / 32] = product;
  }
  __syncthreads();
  float totals[3] = {};
#pragma unroll
  for (int i = 0; i < 3; ++i) {
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) totals[i] += sums[i][w];
  }
  const float q_factor = rsqrtf(totals[0] + 1e-6f), k_factor = rsqrtf(totals[1] + 1e-6f);
  product = totals[2] * q_factor * k_factor;

  // NAtS-L: the chunk's start, kept beside the state.
  float* start = nullptr;
  if (chunks) {
    start = nats.chunk_start + (to * a.heads + head) * size;
    const float* old = nats.chunk_start + (from * a.heads + head) * size;
    const bool opens = position % kPageTokens == 0;
    if (opens || old != start) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (usable(r)) start[cell_of(r)] = opens ? state[r] : old[cell_of(r)];
      }
    }
    log_decay += g;
  }

  const float decay = expf(g), value = live ? v_row[thread / 4] : 0.0f;
  float seen = 0, read = 0;
#pragma unroll
  for (int m = 0; m < kRows / 4; ++m) {
    float kr[4], qr[4];
    Load<float, 4>(&k_row[16 * m + 4 * part], kr);
    Load<float, 4>(&q_row[16 * m + 4 * part], qr);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& cell = state[4 * m + e];
      cell *= decay;
      seen += kr[e] * cell;
      read += qr[e] * cell;
    }
  }
  seen = LaneSum(seen, 4) * k_factor;
  read = LaneSum(read, 4) * q_factor;
  const float update = beta * (value - seen);
#pragma unroll
  for (int m = 0; m < kRows / 4; ++m) {
    float kr[4];
    Load<float, 4>(&k_row[16 * m + 4 * part], kr);
#pragma unroll
    for (int e = 0; e < 4; ++e) state[4 * m + e] += kr[e] * k_factor * update;
  }
  if (chunks && nats.own_chunk == OwnChunkRule::kPastOnly) {
    read = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (usable(r)) read += q_row[row_of(r)] * start[cell_of(r)];
    }
    read = LaneSum(read, 4) * q_factor * expf(log_decay);
  } else {
    read += product * update;
  }
  if (live && part == 0) {
    static_cast<T*>(a.o)[s * a.o_stride + head * a.value_dim + column] =
        FromFloat<T>(read * static_cast<float>(a.scale));
  }
  if (chunks && position % kPageTokens == kPageTokens - 1) {
    const int64_t share = a.heads / nats.softmax_heads;
    if (nats.softmax[s * nats.softmax_heads + head / share] != 0) {
      const float back = nats.decay_over_softmax_chunks ? expf(log_decay) : 1.0f;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (usable(r)) state[r] = back * start[cell_of(r)];
      }
    }
  }
  if (to >= 0) {
    float* new_state = a.state + (to * a.heads + head) * size;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (usable(r)) new_state[cell_of(r)] = state[r];
    }
  }
  asm volatile("barrier.cluster.wait.acquire.aligned;\n" ::: "memory");
  if (blockIdx.x != 0) return;
#pragma unroll
  for (int j = 0; j < kKeyItems; ++j) {
    if (q_channel[j].column < 0) continue;
    q_channel[j].Leave(a, to, q_new[j]);
    k_channel[j].Leave(a, to, k_new[j]);
  }
  if (chunks && thread == 0 && to >= 0) nats.chunk_log_decay[to * a.heads + head] = log_decay;
#endif
}

template <typename T>
void Launch(const DeltaStepArgs& a, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(CeilDiv(a.value_dim, kColumns));
  const OverlappedLaunch launch(
      dim3(blocks, static_cast<unsigned>(a.heads), static_cast<unsigned>(a.sequences)),
      dim3(kThreads), 0, stream, blocks);
  const auto kernel = a.key_dim <= 32    ? StepKernel<T, 8>
                      : a.key_dim <= 128 ? StepKernel<T, 32>
                                         : StepKernel<T, 64>;
  const bool chunks = a.nats != nullptr;
  const NatsDelta nats = chunks ? *a.nats : NatsDelta();
  Check(cudaLaunchKernelEx(launch.config(), kernel, a, nats, chunks), "delta step");
}

}  // namespace

bool DeltaStepFits(const DeltaStepArgs& a) {
  return DeviceCapability() >= 90 && a.key_dim >= 1 && a.key_dim <= 256 && a.value_dim >= 1 &&
         a.value_dim <= kMostBlocks * kColumns && a.heads <= 65535 && a.sequences <= 65535 &&
         Aligned(a.conv_weight, 0, 1);
}

void RunDeltaStep(const DeltaStepArgs& a, cudaStream_t stream) {
  Require(DeltaStepFits(a), "delta step: sizes that it doesn't take");
  Require(a.nats == nullptr || a.heads % a.nats->softmax_heads == 0,
          "delta step: softmax_heads isn't a divisor of heads");
  if (a.sequences == 0) return;
  if (a.dtype == DType::kBFloat16) {
    Launch<bf16>(a, stream);
  } else {
    Require(a.dtype == DType::kFloat32, "delta step: dtype isn't float32 or bfloat16");
    Launch<float>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
