// Everything inside a chunk for a scalar decay: the scores P, and for the delta rule
//   A[t, j] = beta_t e^(b_t - b_j) k_t.k_j (j < t);  M = (I + A)^-1;  U = M (beta v);
//   W = M (beta e^b k).
// M is made in float32: two 32 x 32 blocks by forward substitution, then the block below them.
#include "kernels/cuda/chunked.h"
#include "kernels/cuda/mma.cuh"

namespace natsl::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPitch = 68;      // floats of a row of A and M
constexpr int kHalfPitch = 36;  // of the product inside the block below
constexpr int kValues = 64;     // value columns at once

template <int K, bool kDelta>
struct Layout {
  static constexpr int kK = 0;
  static constexpr int kQ = kK + 64 * K * 2;
  static constexpr int kV = kQ + 64 * K * 2;
  static constexpr int kA = kV + (kDelta ? 2 * 64 * kValues * 2 : 0);
  static constexpr int kT = kA + (kDelta ? 64 * kPitch * 4 : 0);
  static constexpr int kBytes = kT + (kDelta ? 32 * kHalfPitch * 4 : 0);
};

// One lane a column of a unit lower triangular 32 x 32 block I + A, in place: its inverse.
__device__ void InvertBlock(float* block, int lane) {
  float m[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int l = 0; l < i; ++l) sum[l % 4] += block[i * kPitch + l] * m[l];
    m[i] = (i == lane ? 1.0f : 0.0f) - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 32; ++i) block[i * kPitch + lane] = m[i];
}

// c[r, 8 columns] = sign * a[r, :] b[:, 8 columns], all 32 x 32; a thread a row and 8 columns.
__device__ void Product(const float* a, int a_pitch, const float* b, int b_pitch, float sign,
                        float (&c)[8]) {
  const int row = threadIdx.x / 4, column = threadIdx.x % 4 * 8;
#pragma unroll
  for (int e = 0; e < 8; ++e) c[e] = 0;
#pragma unroll 8
  for (int l = 0; l < 32; ++l) {
    const float x = a[row * a_pitch + l];
    const float4 low = *reinterpret_cast<const float4*>(b + l * b_pitch + column);
    const float4 high = *reinterpret_cast<const float4*>(b + l * b_pitch + column + 4);
    c[0] += x * low.x;
    c[1] += x * low.y;
    c[2] += x * low.z;
    c[3] += x * low.w;
    c[4] += x * high.x;
    c[5] += x * high.y;
    c[6] += x * high.z;
    c[7] += x * high.w;
  }
#pragma unroll
  for (int e = 0; e < 8; ++e) c[e] *= sign;
}

template <int K, bool kDelta>
__global__ void __launch_bounds__(kThreads) PrepareKernel(Chunked a) {
  using L = Layout<K, kDelta>;
  constexpr int kPieces = K / 8;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ float b[64], betas[64], key_norms[64], query_norms[64];  // norms: inverse
  const int64_t c = blockIdx.x, head = blockIdx.y;
  if (a.plan.chunk_sequence[c] < 0) return;
  const int64_t row = a.plan.chunk_row[c];
  const int rows = a.plan.chunk_rows[c];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int64_t tile = c * a.heads + head;
  const uint32_t base = SharedAddress(shared);
  const bf16* q = static_cast<const bf16*>(a.q) + head / a.q_share * K;
  const bf16* k = static_cast<const bf16*>(a.k) + head / a.k_share * K;
  const bf16* v = static_cast<const bf16*>(a.v) + head / a.v_share * a.value_dim;

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
  const auto load_values = [&](int64_t column, int buffer) {
    for (int i = thread; i < 64 * 8; i += kThreads) {
      const int r = i / 8, piece = i % 8;
      const bool real = r < rows;
      CopyAsync16(base + L::kV + buffer * 64 * kValues * 2 + TileOffset(r, piece, 8),
                  v + (row + (real ? r : 0)) * a.v_stride + column + piece * 8, real);
    }
  };
  if (kDelta) load_values(0, 0);
  CommitCopies();

  if (warp == 0) {  // cumulative log decay: two rows a lane
    float g[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int r = 2 * lane + e;
      g[e] = r >= rows || a.g == nullptr            ? 0.0f
             : a.decay == DecayKind::kScalarPerHead ? a.g[head]
                                                    : a.g[(row + r) * a.heads + head];
      if (kDelta) {
        betas[r] = r >= rows ? 0.0f : a.beta == nullptr ? 1.0f : a.beta[(row + r) * a.heads + head];
      }
    }
    float sum = g[0] + g[1];
    for (int d = 1; d < 32; d <<= 1) {
      const float lower = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += lower;
    }
#pragma unroll
    for (int e = 0; e < 2; ++e) b[2 * lane + e] = e == 0 ? sum - g[1] : sum;
  }
  WaitCopies<1>();
  __syncthreads();
  {  // A thread a row of K, then of Q: its norm and its factor.
    const int r = thread % 64;
    float inverse = 1;
    if (kDelta && a.normalize_qk) {
      const unsigned char* tile_bytes = shared + (thread < 64 ? L::kK : L::kQ);
      float squares = 1e-6f;
      for (int piece = 0; piece < kPieces; ++piece) {
        const uint4 data =
            *reinterpret_cast<const uint4*>(tile_bytes + TileOffset(r, piece, kPieces));
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float2 x = Unpack(e == 0 ? data.x : e == 1 ? data.y : e == 2 ? data.z : data.w);
          squares += x.x * x.x + x.y * x.y;
        }
      }
      inverse = rsqrtf(squares);
    }
    float* factors = a.factors + tile * kFactors;
    if (thread < 64) {
      key_norms[r] = inverse;
      factors[64 + r] = inverse * __expf(b[63] - b[r]);
    } else {
      query_norms[r] = a.scale * inverse;
      factors[r] = a.scale * inverse * __expf(b[r]);
    }
    if (thread == 0) {
      factors[128] = __expf(b[63]);
      factors[129] = b[63];
    }
  }
  __syncthreads();

  // Scores: a warp's 16 rows against the 16 (n + 1) rows up to its own.
  float* matrix = reinterpret_cast<float*>(shared + L::kA);
  const int t0 = 16 * warp + lane / 4;
  bf16* p = static_cast<bf16*>(a.p) + tile * 64 * 64;
  for (int n = 0; n <= warp; ++n) {
    float keys[2][4] = {}, scores[2][4] = {};
#pragma unroll
    for (int i = 0; i < K / 16; ++i) {
      uint32_t right[4], left[4];
      LoadMatrices(right, PiecesFirst(base + L::kK, 16 * n, 2 * i, kPieces, lane));
      LoadMatrices(left, RowsFirst(base + L::kQ, 16 * warp, 2 * i, kPieces, lane));
      Mma(scores[0], left, right[0], right[1]);
      Mma(scores[1], left, right[2], right[3]);
      if (kDelta) {
        LoadMatrices(left, RowsFirst(base + L::kK, 16 * warp, 2 * i, kPieces, lane));
        Mma(keys[0], left, right[0], right[1]);
        Mma(keys[1], left, right[2], right[3]);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        const int t = t0 + e / 2 * 8, j = 16 * n + 8 * h + 2 * (lane % 4);
        float decayed[2];
#pragma unroll
        for (int f = 0; f < 2; ++f) {
          decayed[f] = j + f <= t ? key_norms[j + f] * __expf(b[t] - b[j + f]) : 0.0f;
        }
        *reinterpret_cast<uint32_t*>(p + t * 64 + j) =
            Pack(query_norms[t] * decayed[0] * scores[h][e],
                 query_norms[t] * decayed[1] * scores[h][e + 1]);
        if (kDelta) {
          const float factor = betas[t] * key_norms[t];
          *reinterpret_cast<float2*>(matrix + t * kPitch + j) =
              make_float2(j < t ? factor * decayed[0] * keys[h][e] : 0.0f,
                          j + 1 < t ? factor * decayed[1] * keys[h][e + 1] : 0.0f);
        }
      }
    }
  }
  if (!kDelta) return;
  __syncthreads();
  if (warp < 2) InvertBlock(matrix + 32 * warp * (kPitch + 1), lane);
  __syncthreads();
  float* half = reinterpret_cast<float*>(shared + L::kT);
  float* below = matrix + 32 * kPitch;
  float c8[8];
  Product(below, kPitch, matrix, kPitch, 1.0f, c8);
  const int r32 = thread / 4, c32 = thread % 4 * 8;
#pragma unroll
  for (int e = 0; e < 8; ++e) half[r32 * kHalfPitch + c32 + e] = c8[e];
  __syncthreads();
  Product(below + 32, kPitch, half, kHalfPitch, -1.0f, c8);
#pragma unroll
  for (int e = 0; e < 8; ++e) below[r32 * kPitch + c32 + e] = c8[e];
  __syncthreads();

  // Rows of M as operands, with the columns' factors of W and of U.
  uint32_t for_w[4][4], for_u[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      for_w[i][m] = for_u[i][m] = 0;
      if (i > warp) continue;
      const int t = t0 + m % 2 * 8, j = 16 * i + m / 2 * 8 + 2 * (lane % 4);
      const float2 pair = *reinterpret_cast<const float2*>(matrix + t * kPitch + j);
      const float x = pair.x * betas[j], y = pair.y * betas[j + 1];
      for_u[i][m] = Pack(x, y);
      for_w[i][m] = Pack(x * key_norms[j] * __expf(b[j]), y * key_norms[j + 1] * __expf(b[j + 1]));
    }
  }
  // Results go through the warp's own rows of the Q tile, which only it has read.
  unsigned char* own_bytes = shared + L::kQ + 16 * warp * K * 2;
  const auto stage = [&](const float(&pair)[2][4], int piece, int pieces) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        *reinterpret_cast<uint32_t*>(
            own_bytes + TileOffset(lane / 4 + e / 2 * 8, piece + h, pieces) + lane % 4 * 4) =
            Pack(pair[h][e], pair[h][e + 1]);
      }
    }
  };
  __syncwarp();
  for (int n = 0; n < K / 16; ++n) {
    float pair[2][4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i > warp) continue;
      uint32_t right[4];
      LoadMatricesTransposed(right, RowsFirst(base + L::kK, 16 * i, 2 * n, kPieces, lane));
      Mma(pair[0], for_w[i], right[0], right[1]);
      Mma(pair[1], for_w[i], right[2], right[3]);
    }
    stage(pair, 2 * n, kPieces);
  }
  __syncwarp();
  bf16* w = static_cast<bf16*>(a.w) + (tile * 64 + 16 * warp) * K;
  for (int i = lane; i < 16 * kPieces; i += 32) {
    *reinterpret_cast<uint4*>(w + i * 8) =
        *reinterpret_cast<const uint4*>(own_bytes + TileOffset(i / kPieces, i % kPieces, kPieces));
  }
  for (int64_t column = 0, buffer = 0; column < a.value_dim; column += kValues, buffer ^= 1) {
    WaitCopies<0>();
    __syncthreads();
    if (column + kValues < a.value_dim) load_values(column + kValues, static_cast<int>(buffer ^ 1));
    CommitCopies();
    const uint32_t values = base + L::kV + static_cast<uint32_t>(buffer * 64 * kValues * 2);
#pragma unroll
    for (int n = 0; n < kValues / 16; ++n) {
      float pair[2][4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i > warp) continue;
        uint32_t right[4];
        LoadMatricesTransposed(right, RowsFirst(values, 16 * i, 2 * n, 8, lane));
        Mma(pair[0], for_u[i], right[0], right[1]);
        Mma(pair[1], for_u[i], right[2], right[3]);
      }
      stage(pair, 2 * n, 8);
    }
    __syncwarp();
    bf16* u = static_cast<bf16*>(a.u) + (tile * 64 + 16 * warp) * a.value_dim + column;
#pragma unroll
    for (int i = lane; i < 16 * 8; i += 32) {
      *reinterpret_cast<uint4*>(u + i / 8 * a.value_dim + i % 8 * 8) =
          *reinterpret_cast<const uint4*>(own_bytes + TileOffset(i / 8, i % 8, 8));
    }
    __syncwarp();
  }
}

template <int K, bool kDelta>
void Launch(const Chunked& a, cudaStream_t stream) {
  const auto kernel = PrepareKernel<K, kDelta>;
  constexpr int kBytes = Layout<K, kDelta>::kBytes;
  AllowShared(reinterpret_cast<const void*>(kernel), kBytes);
  const dim3 grid(static_cast<unsigned>(a.plan.max_chunks), static_cast<unsigned>(a.heads));
  kernel<<<grid, kThreads, kBytes, stream>>>(a);
  CheckLaunch("chunk preparation");
}

}  // namespace

void RunPrepareScalar(const Chunked& a, cudaStream_t stream) {
  if (a.delta) {
    a.key_dim == 128 ? Launch<128, true>(a, stream) : Launch<192, true>(a, stream);
  } else {
    a.key_dim == 128 ? Launch<128, false>(a, stream) : Launch<256, false>(a, stream);
  }
}

}  // namespace natsl::kernels::cuda
