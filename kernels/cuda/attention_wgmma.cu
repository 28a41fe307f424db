// Prefill attention on Hopper: bfloat16, key_dim 64, value_dim 64 or 128.
//
// A block takes three chunks of one sequence for one query head: a warpgroup a chunk, its 64
// queries in registers. A fourth warpgroup streams tiles of 64 keys and values (pages, then the
// block's own chunks) through a ring in shared memory. All queries of a chunk see the same pages,
// so only the own chunk is masked. Where the scores are bounded, the bound replaces the running
// maximum and nothing is rescaled.
#include "kernels/cuda/attention_prefill.h"
#include "kernels/cuda/device.cuh"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define NATSL_WGMMA 1
#include "kernels/cuda/wgmma.cuh"
#endif

namespace natsl::kernels::cuda {
namespace {

constexpr int kChunks = 3;  // of a block, a warpgroup each
constexpr int kThreads = 128 * (kChunks + 1);
constexpr int kKeyDim = 64;
constexpr int kKeyBytes = 64 * kKeyDim * 2;
constexpr int kInFlight = 4;  // tiles that the producer has asked for and not yet announced

template <int kValueDim>
struct Ring {
  static constexpr int kTile = kKeyBytes + 64 * kValueDim * 2;
  static constexpr int kStages = 8;
  static constexpr int kBytes = 1024 + kStages * kTile;  // 1,024: alignment
};

#ifdef NATSL_WGMMA

// What a block works on.
struct Place {
  int64_t sequence = -1;
  int64_t chunk = 0;  // the first, in the plan
  int count = 0;      // chunks, 1 to kChunks
};

__device__ Place FindPlace(const ChunkPlan& plan, int64_t z) {
  const auto first = [&](int64_t s) { return plan.sequence_chunk[s] / kChunks + s; };
  int64_t low = 0, high = plan.sequences;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (first(middle) <= z ? low : high) = middle;
  }
  const int64_t chunks = plan.sequence_chunk[low + 1] - plan.sequence_chunk[low];
  const int64_t begin = (z - first(low)) * kChunks;
  Place place;
  if (begin >= chunks) return place;
  place.sequence = low;
  place.chunk = plan.sequence_chunk[low] + begin;
  place.count = static_cast<int>(min(int64_t{kChunks}, chunks - begin));
  return place;
}

template <int kValueDim, bool kFixed>
__global__ void __launch_bounds__(kThreads, 1) WgmmaKernel(PrefillAttentionArgs a, ChunkPlan plan) {
  using R = Ring<kValueDim>;
  extern __shared__ unsigned char raw[];
  __shared__ uint64_t full[R::kStages], empty[R::kStages];
  // Long lists first.
  const Place place = FindPlace(plan, gridDim.x - 1 - blockIdx.x);
  const int64_t s = place.sequence;
  if (s < 0) return;
  const int64_t query_head = blockIdx.y;
  const int64_t groups = a.table.groups, kv_heads = groups * a.pool.heads;
  const int64_t kv_head = query_head / (a.query_heads / kv_heads);
  const int64_t group = kv_head / a.pool.heads, head = kv_head % a.pool.heads;
  const int thread = static_cast<int>(threadIdx.x), warpgroup = thread / 128;
  const uint32_t base = (SharedAddress(raw) + 1023) / 1024 * 1024;
  if (thread == 0) {
    for (int i = 0; i < R::kStages; ++i) {
      InitBarrier(SharedAddress(&full[i]), 128);
      InitBarrier(SharedAddress(&empty[i]), 4 * kChunks);
    }
    FenceAsync();
  }
  __syncthreads();
  const int past = a.pages.past[place.chunk * groups + group];
  const int tiles = past + place.count;
  const int64_t first = plan.first == nullptr ? 0 : plan.first[s];
  // Rows of the first chunk that an earlier batch had: its tile is its page.
  const int before =
      static_cast<int>((first + plan.chunk_row[place.chunk] - plan.offsets[s]) % kPageTokens);

  if (warpgroup == kChunks) {
    ShrinkRegisters<32>();
    const int lane_thread = thread % 128, lane = thread % 32;
    const int32_t* list = a.table.pages + (a.slots[s] * groups + group) * a.table.max_pages;
    int32_t ahead = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int stage = tile % R::kStages;
      if (tile % 32 == 0 && tile + lane < past) ahead = list[tile + lane];
      const int32_t listed = __shfl_sync(0xffffffffu, ahead, tile % 32);
      if (tile >= R::kStages) {
        WaitBarrier(SharedAddress(&empty[stage]), (tile / R::kStages + 1) & 1);
      }
      const bf16 *keys, *values;
      int64_t key_stride = kKeyDim, value_stride = kValueDim;
      int rows = kPageTokens;
      if (tile >= past) rows = plan.chunk_rows[place.chunk + tile - past];
      if (tile > past || (tile == past && before == 0)) {
        const int64_t row = plan.chunk_row[place.chunk + tile - past];
        key_stride = a.k_stride;
        value_stride = a.v_stride;
        keys = static_cast<const bf16*>(a.k) + row * key_stride + kv_head * kKeyDim;
        values = static_cast<const bf16*>(a.v) + row * value_stride + kv_head * kValueDim;
      } else {
        if (tile == past) rows += before;
        const int64_t page = tile == past ? a.pages.page[place.chunk * groups + group] : listed;
        const int64_t row = (page * a.pool.heads + head) * kPageTokens;
        keys = static_cast<const bf16*>(a.pool.keys) + row * kKeyDim;
        values = static_cast<const bf16*>(a.pool.values) + row * kValueDim;
      }
      const uint32_t at = base + static_cast<uint32_t>(stage * R::kTile);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = lane_thread / 8 + 16 * i, piece = lane_thread % 8;
        CopyAsync16(at + static_cast<uint32_t>(r * 128 + (piece ^ (r & 7)) * 16),
                    keys + (r < rows ? r : 0) * key_stride + piece * 8, r < rows);
      }
      constexpr int kPieces = kValueDim / 8;
#pragma unroll
      for (int i = 0; i < kPieces / 2; ++i) {
        const int r = lane_thread / kPieces + 128 / kPieces * i, piece = lane_thread % kPieces;
        CopyAsync16(at + static_cast<uint32_t>(kKeyBytes + piece / 8 * 8192 + r * 128 +
                                               (piece % 8 ^ (r & 7)) * 16),
                    values + (r < rows ? r : 0) * value_stride + piece * 8, r < rows);
      }
      CommitCopies();
      if (tile >= kInFlight) {
        WaitCopies<kInFlight>();
        FenceAsync();
        Arrive(SharedAddress(&full[(tile - kInFlight) % R::kStages]));
      }
    }
    WaitCopies<0>();
    FenceAsync();
    for (int tile = max(0, tiles - kInFlight); tile < tiles; ++tile) {
      Arrive(SharedAddress(&full[tile % R::kStages]));
    }
  } else {
    GrowRegisters<160>();
    const int warp = thread % 128 / 32, lane = thread % 32;
    const bool live = warpgroup < place.count;
    const int64_t chunk = place.chunk + (live ? warpgroup : 0);
    const int64_t row0 = plan.chunk_row[chunk];
    const int rows = live ? plan.chunk_rows[chunk] : 0;
    const int mine = 16 * warp + lane / 4;  // this thread's rows: mine, mine + 8
    uint32_t query[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int m = 0; m < 4; ++m) {
        const int r = mine + m % 2 * 8, column = 16 * i + m / 2 * 8 + 2 * (lane % 4);
        query[i][m] = 0;
        if (r < rows) {
          query[i][m] = *reinterpret_cast<const uint32_t*>(static_cast<const bf16*>(a.q) +
                                                           (row0 + r) * a.q_stride +
                                                           query_head * kKeyDim + column);
        }
      }
    }
    float out[kValueDim / 2];
#pragma unroll
    for (int i = 0; i < kValueDim / 2; ++i) out[i] = 0;
    float total[2] = {0, 0}, high[2] = {-INFINITY, -INFINITY};
    const float factor = static_cast<float>(a.scale * 1.4426950408889634);
    const float bound = static_cast<float>(a.score_bound * 1.4426950408889634);
    const int own = past + warpgroup;  // tile of the own chunk
    const int shift = warpgroup == 0 ? before : 0;

    const auto arrived = [&](int tile) {
      WaitBarrier(SharedAddress(&full[tile % R::kStages]), (tile / R::kStages) & 1);
    };
    const auto release = [&](int tile) {
      if (lane == 0) Arrive(SharedAddress(&empty[tile % R::kStages]));
    };
    // Of the block's own chunks before this one, those count that are kept.
    const auto seen = [&](int tile) {
      if (!live || tile > own) return false;
      if (tile < past || tile == own) return true;
      const int64_t c = place.chunk + tile - past;
      return a.pages.past[(c + 1) * groups + group] > a.pages.past[c * groups + group];
    };
    float score[32];
    const auto multiply_keys = [&](int tile) {
      const uint32_t at = base + static_cast<uint32_t>(tile % R::kStages * R::kTile);
      FenceOperands();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        Product64<false>(score, query[i], TileDescriptor(at + 32 * i, 16), i > 0);
      }
      CommitProducts();
    };
    // The scores' exponentials times the tile's values join `out`.
    const auto multiply_values = [&](int tile) {
      float offset[2] = {bound, bound};
      if (!kFixed) {
        float top[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          top[h] = high[h];
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            if (i % 4 / 2 == h) top[h] = fmaxf(top[h], score[i]);
          }
          top[h] = LaneMax(top[h], 4);
        }
        // Most tiles raise no row's maximum.
        if (__any_sync(0xffffffffu, top[0] > high[0] || top[1] > high[1])) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const float scaled = high[h] == -INFINITY ? 0.0f : Exp2((high[h] - top[h]) * factor);
            total[h] *= scaled;
            high[h] = top[h];
#pragma unroll
            for (int i = 0; i < kValueDim / 2; ++i) {
              if (i % 4 / 2 == h) out[i] *= scaled;
            }
          }
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) offset[h] = top[h] == -INFINITY ? 0.0f : top[h] * factor;
      }
      uint32_t weights[4][4];
#pragma unroll
      for (int i = 0; i < 32; i += 2) {
        const int h = i % 4 / 2;
        const float x = Exp2(score[i] * factor - offset[h]);
        const float y = Exp2(score[i + 1] * factor - offset[h]);
        total[h] += x + y;
        weights[i / 8][i % 8 / 2] = Pack(x, y);
      }
      const uint32_t at = base + static_cast<uint32_t>(tile % R::kStages * R::kTile);
      FenceOperands();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint64_t values = TileDescriptor(at + kKeyBytes + 2048 * i, 8192);
        if constexpr (kValueDim == 128) {
          Product128Transposed(out, weights[i], values, true);
        } else {
          Product64<true>(out, weights[i], values, true);
        }
      }
      CommitProducts();
    };

    if (live) {
      int tile = 0;
      while (!seen(tile)) ++tile;
      arrived(tile);
      multiply_keys(tile);
      while (tile < own) {
        int following = tile + 1;
        while (!seen(following)) ++following;
        WaitProducts<0>();
        multiply_values(tile);
        // The next scores queue behind: the tensor cores go on while this tile is waited for.
        arrived(following);
        multiply_keys(following);
        WaitProducts<1>();
        release(tile);
        tile = following;
      }
      WaitProducts<0>();
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const int key = i / 4 * 8 + 2 * (lane % 4) + i % 2;
        if (key > mine + i % 4 / 2 * 8 + shift) score[i] = -INFINITY;
      }
      multiply_values(own);
      WaitProducts<0>();
      release(own);
    }
    for (int tile = live ? past : 0; tile < tiles; ++tile) {
      if (seen(tile)) continue;
      arrived(tile);
      release(tile);
    }
    if (!live) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float sum = LaneSum(total[h], 4);
      const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
      const int r = mine + 8 * h;
      if (r >= rows) continue;
      bf16* o = static_cast<bf16*>(a.o) + (row0 + r) * a.o_stride + query_head * kValueDim +
                2 * (lane % 4);
#pragma unroll
      for (int j = 0; j < kValueDim / 8; ++j) {
        *reinterpret_cast<uint32_t*>(o + 8 * j) =
            Pack(out[4 * j + 2 * h] * inverse, out[4 * j + 2 * h + 1] * inverse);
      }
    }
  }
}

#else

template <int kValueDim, bool kFixed>
__global__ void WgmmaKernel(PrefillAttentionArgs, ChunkPlan) {}

#endif

template <int kValueDim, bool kFixed>
void Launch(const PrefillAttentionArgs& a, cudaStream_t stream) {
  const auto kernel = WgmmaKernel<kValueDim, kFixed>;
  constexpr int kBytes = Ring<kValueDim>::kBytes;
  AllowShared(reinterpret_cast<const void*>(kernel), kBytes);
  const int64_t blocks = a.plan->max_chunks / kChunks + a.plan->sequences + 1;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(a.query_heads));
  kernel<<<grid, kThreads, kBytes, stream>>>(a, *a.plan);
  CheckLaunch("prefill attention");
}

// Does this build hold the kernel for the current device (compiled for sm_90a)?
bool HasKernel() {
  static const bool value = [] {
    if (DeviceCapability() != 90) return false;
    cudaFuncAttributes attributes{};
    const auto kernel = WgmmaKernel<128, true>;
    if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    return attributes.maxThreadsPerBlock >= kThreads && attributes.numRegs > 64;
  }();
  return value;
}

}  // namespace

bool RunPrefillAttentionWgmma(const PrefillAttentionArgs& a, cudaStream_t stream) {
  const int64_t value_dim = a.pool.value_dim;
  if (a.pool.dtype != DType::kBFloat16 || a.pool.key_dim != kKeyDim ||
      (value_dim != 64 && value_dim != 128) || a.window > 0 || !a.own_chunk || !HasKernel() ||
      !Aligned(a.q, a.q_stride, 2) || !Aligned(a.k, a.k_stride, 2) ||
      !Aligned(a.v, a.v_stride, 2) || !Aligned(a.o, a.o_stride, 2) || !Aligned(a.pool.keys, 0, 1) ||
      !Aligned(a.pool.values, 0, 1)) {
    return false;
  }
  const bool fixed = a.score_bound > 0 && a.score_bound <= 40;
  if (value_dim == 64) {
    Launch<64, false>(a, stream);
  } else {
    fixed ? Launch<128, true>(a, stream) : Launch<128, false>(a, stream);
  }
  return true;
}

}  // namespace natsl::kernels::cuda
