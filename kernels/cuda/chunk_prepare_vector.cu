// Everything inside a chunk for a vector decay: q e^b, k e^(bn - b), and the scores
//   P[t, j] = scale sum_c q_tc k_jc e^(b_tc - b_jc), j <= t
// (with a bonus u: b is exclusive for q, and P[t, t] = scale sum_c q_tc u_c k_tc). No exponent is
// ever above zero: blocks off the diagonal share their rows' first b as a pivot and go through
// tensor cores, the 8 x 8 blocks on it are summed channel by channel in float32.
#include "kernels/cuda/chunked.h"
#include "kernels/cuda/mma.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr float kLog2E = 1.4426950408889634f;

template <int K>
struct Layout {
  static constexpr int kPitch = K + 2;  // floats of a row of b
  static constexpr int kK = 0;
  static constexpr int kQ = kK + 64 * K * 2;
  static constexpr int kB = kQ + 64 * K * 2;
  static constexpr int kBytes = kB + 65 * kPitch * 4;
};

template <int K>
__global__ void __launch_bounds__(kThreads) PrepareKernel(Chunked a) {
  using L = Layout<K>;
  constexpr int kPieces = K / 8, kPitch = L::kPitch;
  extern __shared__ __align__(128) unsigned char shared[];
  const int64_t c = blockIdx.x, head = blockIdx.y;
  if (a.plan.chunk_sequence[c] < 0) return;
  const int64_t row = a.plan.chunk_row[c];
  const int rows = a.plan.chunk_rows[c];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int64_t tile = c * a.heads + head;
  const uint32_t base = SharedAddress(shared);
  const int64_t k_head = head / a.k_share, k_heads = a.heads / a.k_share;
  const bf16* q = static_cast<const bf16*>(a.q) + head / a.q_share * K;
  const bf16* k = static_cast<const bf16*>(a.k) + k_head * K;
  for (int i = thread; i < 64 * kPieces; i += kThreads) {
    const int r = i / kPieces, piece = i % kPieces;
    const bool real = r < rows;
    const int64_t packed = row + (real ? r : 0);
    CopyAsync16(base + L::kK + TileOffset(r, piece, kPieces), k + packed * a.k_stride + piece * 8,
                real);
    CopyAsync16(base + L::kQ + TileOffset(r, piece, kPieces), q + packed * a.q_stride + piece * 8,
                real);
  }
  CommitCopies();
  // Row r + 1 of `sums`: b after row r, times log2 e; row 0: zeros.
  float* sums = reinterpret_cast<float*>(shared + L::kB);
  for (int channel = thread; channel < K; channel += kThreads) {
    float sum = 0;
    sums[channel] = 0;
    const float* g = a.g + (row * k_heads + k_head) * K + channel;
#pragma unroll 32
    for (int r = 0; r < 64; ++r) {
      if (r < rows) sum += kLog2E * g[r * k_heads * K];
      sums[(r + 1) * kPitch + channel] = sum;
    }
    a.decays[tile * K + channel] = Exp2(sum);
  }
  WaitCopies<0>();
  __syncthreads();
  const int late = a.bonus == nullptr ? 1 : 0;  // q of row t sees sums[t + late]
  const float* q_sums = sums + late * kPitch;
  const float* k_sums = sums + kPitch;
  const auto pair_of = [&](int part, int r, int channel) {  // two channels of a row of a tile
    return Unpack(*reinterpret_cast<const uint32_t*>(
        shared + part + TileOffset(r, channel / 8, kPieces) + channel % 8 * 2));
  };
  const auto sum_of = [&](const float* from, int r, int channel) {
    return *reinterpret_cast<const float2*>(from + r * kPitch + channel);
  };

  bf16* q_tile = static_cast<bf16*>(a.q_tiles) + tile * 64 * K;
  bf16* k_tile = static_cast<bf16*>(a.k_tiles) + tile * 64 * K;
  for (int i = thread; i < 64 * kPieces; i += kThreads) {
    const int r = i / kPieces, channel = i % kPieces * 8;
    uint32_t new_q[4], new_k[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = channel + 2 * e;
      const float2 x = pair_of(L::kQ, r, at), y = pair_of(L::kK, r, at);
      const float2 bq = sum_of(q_sums, r, at), bk = sum_of(k_sums, r, at);
      const float2 last = sum_of(k_sums, 63, at);
      new_q[e] = Pack(a.scale * x.x * Exp2(bq.x), a.scale * x.y * Exp2(bq.y));
      new_k[e] = Pack(y.x * Exp2(last.x - bk.x), y.y * Exp2(last.y - bk.y));
    }
    *reinterpret_cast<uint4*>(q_tile + i * 8) = make_uint4(new_q[0], new_q[1], new_q[2], new_q[3]);
    *reinterpret_cast<uint4*>(k_tile + i * 8) = make_uint4(new_k[0], new_k[1], new_k[2], new_k[3]);
  }

  bf16* p = static_cast<bf16*>(a.p) + tile * 64 * 64;
  const int t0 = 16 * warp;
  if (warp > 0) {
    float scores[6][4] = {};
    for (int i = 0; i < K / 16; ++i) {
      uint32_t left[4];
      float2 pivot[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) pivot[h] = sum_of(sums, t0, 16 * i + 8 * h + 2 * (lane % 4));
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const int r = t0 + lane / 4 + m % 2 * 8, channel = 16 * i + m / 2 * 8 + 2 * (lane % 4);
        const float2 x = pair_of(L::kQ, r, channel), bq = sum_of(q_sums, r, channel);
        left[m] = Pack(x.x * Exp2(bq.x - pivot[m / 2].x), x.y * Exp2(bq.y - pivot[m / 2].y));
      }
#pragma unroll
      for (int n = 0; n < 6; ++n) {
        if (n >= 2 * warp) continue;
        uint32_t right[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int r = 8 * n + lane / 4, channel = 16 * i + 8 * h + 2 * (lane % 4);
          const float2 y = pair_of(L::kK, r, channel), bk = sum_of(k_sums, r, channel);
          right[h] = Pack(y.x * Exp2(pivot[h].x - bk.x), y.y * Exp2(pivot[h].y - bk.y));
        }
        Mma(scores[n], left, right[0], right[1]);
      }
    }
#pragma unroll
    for (int n = 0; n < 6; ++n) {
      if (n >= 2 * warp) continue;
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        *reinterpret_cast<uint32_t*>(p + (t0 + lane / 4 + e / 2 * 8) * 64 + 8 * n +
                                     2 * (lane % 4)) =
            Pack(a.scale * scores[n][e], a.scale * scores[n][e + 1]);
      }
    }
  }
  {  // Rows 8 to 15 of the diagonal block against its columns 0 to 7.
    float low[4] = {};
    for (int i = 0; i < K / 16; ++i) {
      uint32_t left[4] = {0, 0, 0, 0}, right[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int channel = 16 * i + 8 * h + 2 * (lane % 4), row8 = t0 + 8 + lane / 4;
        const float2 pivot = sum_of(sums, t0 + 8, channel);
        const float2 x = pair_of(L::kQ, row8, channel), bq = sum_of(q_sums, row8, channel);
        left[2 * h + 1] = Pack(x.x * Exp2(bq.x - pivot.x), x.y * Exp2(bq.y - pivot.y));
        const float2 y = pair_of(L::kK, t0 + lane / 4, channel);
        const float2 bk = sum_of(k_sums, t0 + lane / 4, channel);
        right[h] = Pack(y.x * Exp2(pivot.x - bk.x), y.y * Exp2(pivot.y - bk.y));
      }
      Mma(low, left, right[0], right[1]);
    }
    *reinterpret_cast<uint32_t*>(p + (t0 + 8 + lane / 4) * 64 + t0 + 2 * (lane % 4)) =
        Pack(a.scale * low[2], a.scale * low[3]);
    *reinterpret_cast<uint32_t*>(p + (t0 + lane / 4) * 64 + t0 + 8 + 2 * (lane % 4)) = 0;
  }
  // The 8 x 8 blocks: a lane has row t and every second key of its block.
  const int t = t0 + lane / 2, first = t0 + lane / 16 * 8 + lane % 2;
  float scores[4] = {};
  for (int channel = 0; channel < K; channel += 2) {
    const float2 x = pair_of(L::kQ, t, channel), bq = sum_of(q_sums, t, channel);
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const int j = first + 2 * n;
      const float2 y = pair_of(L::kK, j, channel), bk = sum_of(k_sums, j, channel);
      float2 factor = make_float2(Exp2(bq.x - bk.x), Exp2(bq.y - bk.y));
      if (a.bonus != nullptr && j == t) {
        factor = make_float2(a.bonus[head * K + channel], a.bonus[head * K + channel + 1]);
      }
      if (j <= t) scores[n] += x.x * y.x * factor.x + x.y * y.y * factor.y;
    }
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    const int j = first + 2 * n;
    p[t * 64 + j] = __float2bfloat16_rn(j <= t ? a.scale * scores[n] : 0.0f);
  }
}

template <int K>
void Launch(const Chunked& a, cudaStream_t stream) {
  const auto kernel = PrepareKernel<K>;
  AllowShared(reinterpret_cast<const void*>(kernel), Layout<K>::kBytes);
  const dim3 grid(static_cast<unsigned>(a.plan.max_chunks), static_cast<unsigned>(a.heads));
  kernel<<<grid, kThreads, Layout<K>::kBytes, stream>>>(a);
  CheckLaunch("chunk preparation");
}

}  // namespace

void RunPrepareVector(const Chunked& a, cudaStream_t stream) {
  a.key_dim == 128 ? Launch<128>(a, stream) : Launch<256>(a, stream);
}

}  // namespace natsl::kernels::cuda
