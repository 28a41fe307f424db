// The walk of the state over the chunks of a segment (see chunked.h).
#pragma once

#include "kernels/cuda/chunk_segment.cuh"
#include "kernels/cuda/mma.cuh"

namespace natsl::kernels::cuda {

template <int K, bool kDelta, bool kVector, bool kOutputs>
struct WalkLayout {
  static constexpr int kPieces = K / 8;
  static constexpr int kKeyTile = 64 * K * 2;
  static constexpr int kScoreTile = 64 * 64 * 2;
  static constexpr int kW = 0;
  static constexpr int kQ = kW + (kDelta ? kKeyTile : 0);
  static constexpr int kK = kQ + (kOutputs ? kKeyTile : 0);
  static constexpr int kP = kK + kKeyTile;
  static constexpr int kDecay = kP + (kOutputs ? kScoreTile : 0);
  static constexpr int kU = kDecay + (kVector ? K * 4 : (kFactors * 4 + 127) / 128 * 128);
  /// Bytes of a stage with `columns` value columns.
  static __host__ __device__ constexpr int Bytes(int columns) { return kU + 64 * columns * 2; }
};

constexpr int kWalkColumns = 128;  // value columns of a block, 16 a warp

template <int K, bool kDelta, bool kVector, bool kOutputs>
__global__ void __launch_bounds__(256, 1) WalkKernel(Chunked a, int stages) {
  using Layout = WalkLayout<K, kDelta, kVector, kOutputs>;
  constexpr int kPieces = Layout::kPieces;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ float partial[256];
  __shared__ int64_t late_start;
  __shared__ float total_log;

  const Segment segment = FindSegment(a, blockIdx.z);
  const int64_t s = segment.sequence, head = blockIdx.y;
  if (s < 0) return;
  if (!kOutputs && segment.index == segment.count - 1) return;  // nobody needs its end
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32, lane = thread % 32, columns = threads / 2;
  const int64_t value_blocks = (a.value_dim + columns - 1) / columns;
  // The transfer is the walk from the identity with U = 0.
  const bool transfer = kDelta && !kOutputs && blockIdx.x >= value_blocks;
  if (transfer && segment.index == 0) return;
  const int64_t block = transfer ? blockIdx.x - value_blocks : blockIdx.x;
  const int64_t width = transfer ? K : a.value_dim;
  const int64_t column0 = block * columns;
  const int64_t mine = column0 + warp * 16 + lane / 4;  // this thread's first value column
  const bool live = column0 + warp * 16 < width;        // widths are multiples of 16
  const int64_t entry = blockIdx.z * a.heads + head;

  int64_t begin = segment.begin;
  if (!kOutputs && !kVector) {
    // Chunks whose state is wiped before the segment's end are left out.
    const int64_t count = segment.end - segment.begin;
    const int64_t each = (count + threads - 1) / threads;
    float sum = 0;
    for (int64_t i = thread * each; i < min(count, (thread + 1) * each); ++i) {
      const int64_t chunk = segment.begin + i;
      const bool frozen =
          Returns(a, segment, chunk, head) && !a.nats_state.decay_over_softmax_chunks;
      if (!frozen)
        sum += a.factors[((segment.first_chunk + chunk) * a.heads + head) * kFactors + 129];
    }
    partial[thread] = sum;
    __syncthreads();
    if (thread == 0) {
      float log = 0;
      int i = threads - 1;
      for (; i >= 0 && log > kWiped; --i) log += partial[i];
      late_start = segment.begin + (log > kWiped ? 0 : min(count, (i + 1) * each));
      total_log = log;
      if (blockIdx.x == 0) a.segment_log[entry] = log;
    }
    __syncthreads();
    begin = late_start;
    if (transfer && total_log <= kWiped) return;
  }
  const bool from_state = begin == segment.begin && (segment.index == 0 || kOutputs);

  float state[K / 8][4];
#pragma unroll
  for (int j = 0; j < K / 8; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) state[j][e] = 0;
  }
  const int64_t size = K * a.value_dim;
  // Calls body(j, e, offset) for element e of tile j: value column mine (+ 8), key row
  // 8 j + 2 (lane % 4) (+ 1). The width is hidden from the compiler, which else keeps every offset
  // in registers over the whole walk.
  const auto cells = [&](const auto& body) {
    int64_t hidden = width;
    asm volatile("" : "+l"(hidden));
    int64_t offset = 2 * (lane % 4) * hidden + mine;
#pragma unroll
    for (int j = 0; j < K / 8; ++j) {
      body(j, 0, offset);
      body(j, 1, offset + hidden);
      body(j, 2, offset + 8);
      body(j, 3, offset + hidden + 8);
      offset += 8 * hidden;
    }
  };
  const auto load_state = [&](const float* from, float factor) {
    cells([&](int j, int e, int64_t offset) { state[j][e] = factor * from[offset]; });
  };
  const auto store_state = [&](float* to) {
    cells([&](int j, int e, int64_t offset) { to[offset] = state[j][e]; });
  };
  if (transfer) {
    if (live) {
#pragma unroll
      for (int j = 0; j < K / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          state[j][e] = 8 * j + 2 * (lane % 4) + e % 2 == mine + e / 2 * 8 ? 1.0f : 0.0f;
        }
      }
    }
  } else if (from_state && live) {
    if (kOutputs && segment.count > 1) {
      load_state(a.start + entry * size, 1.0f);
    } else if (const int64_t slot = ReadSlot(a.slots, s); slot >= 0) {
      load_state(a.state + (slot * a.heads + head) * size, 1.0f);
    }
  }

  const bf16* q = static_cast<const bf16*>(a.q) + head / a.q_share * K;
  const bf16* k = static_cast<const bf16*>(a.k) + head / a.k_share * K;
  const bf16* v = static_cast<const bf16*>(a.v) + head / a.v_share * a.value_dim;
  const int stage_bytes = Layout::Bytes(columns), value_pieces = columns / 8;
  const uint32_t base = SharedAddress(shared);
  const int value_columns = static_cast<int>(min(int64_t{columns}, width - column0));

  // A thread copies one 16-byte piece of every key_step-th row of the key tiles, and of every 16th
  // row of the value tile.
  const int key_step = threads / kPieces, key_row = thread / kPieces, key_piece = thread % kPieces;
  const int value_row = thread / value_pieces, value_piece = thread % value_pieces;
  const auto load = [&](int64_t chunk) {
    if (chunk < segment.end) {
      const uint32_t stage =
          base + static_cast<uint32_t>(static_cast<int>(chunk - begin) % stages * stage_bytes);
      const int64_t tile = (segment.first_chunk + chunk) * a.heads + head;
      const int64_t row = segment.row + segment.RowOf(chunk);
      const int rows = segment.RowsOf(chunk);
      if (key_row < key_step) {
        const int64_t at_tile = tile * 64 * K + key_row * K + key_piece * 8;
        const bf16* from_w = static_cast<const bf16*>(a.w) + at_tile;
        const bf16* from_q = kVector ? static_cast<const bf16*>(a.q_tiles) + at_tile
                                     : q + (row + key_row) * a.q_stride + key_piece * 8;
        const bf16* from_k = kVector ? static_cast<const bf16*>(a.k_tiles) + at_tile
                                     : k + (row + key_row) * a.k_stride + key_piece * 8;
        for (int r = key_row; r < 64; r += key_step) {
          const uint32_t at = stage + TileOffset(r, key_piece, kPieces);
          const bool real = kVector || r < rows;
          if (kDelta) CopyAsync16(at + Layout::kW, from_w, true);
          if (kOutputs) CopyAsync16(at + Layout::kQ, real ? from_q : q, real);
          CopyAsync16(at + Layout::kK, real ? from_k : k, real);
          from_w += key_step * K;
          from_q += kVector ? key_step * K : key_step * a.q_stride;
          from_k += kVector ? key_step * K : key_step * a.k_stride;
        }
      }
      if (kOutputs) {
        const bf16* from = static_cast<const bf16*>(a.p) + tile * 64 * 64 + thread * 8;
        for (int r = thread / 8; r < 64; r += threads / 8, from += threads * 8) {
          CopyAsync16(stage + Layout::kP + TileOffset(r, thread % 8, 8), from, true);
        }
      }
      constexpr int kDecayPieces = kVector ? K / 4 : kFactors / 4;
      const float* decay = kVector ? a.decays + tile * K : a.factors + tile * kFactors;
      if (thread < kDecayPieces) {
        CopyAsync16(stage + Layout::kDecay + thread * 16, decay + thread * 4, true);
      }
      if (!transfer) {
        const int64_t stride = kDelta ? a.value_dim : a.v_stride;
        const bf16* from = (kDelta ? static_cast<const bf16*>(a.u) + tile * 64 * a.value_dim
                                   : v + row * a.v_stride) +
                           value_row * stride + column0 + value_piece * 8;
        const bool inside = value_piece * 8 < value_columns;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int r = value_row + 16 * i;
          const bool real = inside && (kDelta || r < rows);
          CopyAsync16(stage + Layout::kU + TileOffset(r, value_piece, value_pieces),
                      real ? from : v, real);
          from += 16 * stride;
        }
      }
    }
    CommitCopies();
  };

  for (int i = 0; i < stages - 1; ++i) load(begin + i);
  // Outputs of the chunk's tokens from `first` on, transposed through the warp's own columns of the
  // U tile, which nobody reads any more.
  const auto write_outputs = [&](int64_t chunk, uint32_t offset, int first, const auto& out) {
    constexpr int kSixteens = sizeof(out) / sizeof(out[0]) / 2;
#pragma unroll
    for (int i = 0; i < kSixteens; ++i) {
      const uint32_t r[4] = {Pack(out[2 * i][0], out[2 * i][1]), Pack(out[2 * i][2], out[2 * i][3]),
                             Pack(out[2 * i + 1][0], out[2 * i + 1][1]),
                             Pack(out[2 * i + 1][2], out[2 * i + 1][3])};
#if __CUDA_ARCH__ >= 900
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(PiecesFirst(
              base + offset + Layout::kU, first + 16 * i, 2 * warp, value_pieces, lane)),
          "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
          : "memory");
#else
#pragma unroll
      for (int m = 0; m < 4; ++m) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int token = first + 16 * i + 8 * (m / 2) + 2 * (lane % 4) + e;
          unsigned char* at = shared + offset + Layout::kU +
                              TileOffset(token, 2 * warp + m % 2, value_pieces) + lane / 4 * 2;
          *reinterpret_cast<uint16_t*>(at) = static_cast<uint16_t>(r[m] >> (16 * e));
        }
      }
#endif
    }
    __syncwarp();
    const int rows = segment.RowsOf(chunk);
    bf16* o = static_cast<bf16*>(a.o) + (segment.row + segment.RowOf(chunk)) * a.o_stride +
              head * a.value_dim + column0 + warp * 16;
#pragma unroll
    for (int i = 0; i < kSixteens; ++i) {
      const int token = first + 16 * i + lane / 2;
      const uint4 data = *reinterpret_cast<const uint4*>(
          shared + offset + Layout::kU + TileOffset(token, 2 * warp + lane % 2, value_pieces));
      if (token < rows) *reinterpret_cast<uint4*>(o + token * a.o_stride + lane % 2 * 8) = data;
    }
  };

  float segment_decay = 1;  // vector decay: of key row `thread`
  bool returns = begin < segment.end && Returns(a, segment, begin, head);
  for (int64_t chunk = begin; chunk < segment.end; ++chunk) {
    if (stages == 2) {
      WaitCopies<0>();
    } else {
      WaitCopies<1>();
    }
    __syncthreads();
    load(chunk + stages - 1);
    const uint32_t offset =
        static_cast<uint32_t>(static_cast<int>(chunk - begin) % stages * stage_bytes);
    const uint32_t stage = base + offset;
    const float* decay = reinterpret_cast<const float*>(shared + offset + Layout::kDecay);
    const bool goes_back = returns;
    if (chunk + 1 < segment.end) returns = Returns(a, segment, chunk + 1, head);
    if (kVector && !kOutputs && thread < K) segment_decay *= decay[thread];
    if (live) {
      if (kOutputs && kDelta && a.nats && !segment.Complete(chunk)) {
        // The chunk stays open: its start is part of the state.
        const int64_t slot = WriteSlot(a.slots, s);
        if (slot >= 0) {
          float* to = a.nats_state.chunk_start + (slot * a.heads + head) * size;
          if (chunk > 0 || segment.before == 0) {
            store_state(to);
          } else {  // it began in an earlier batch
            const float* from =
                a.nats_state.chunk_start + (ReadSlot(a.slots, s) * a.heads + head) * size;
            cells([&](int, int, int64_t offset) { to[offset] = from[offset]; });
          }
        }
      }
      // Of the delta rule both products with the state share its operands; else the outputs come in
      // parts where the state leaves few registers.
      constexpr int kParts = !kDelta && K > 192 ? 2 : 1, kTokens = 64 / kParts;
      float seen[8][4], out[kTokens / 8][4];
      const auto multiply_state = [&](bool outputs, int first) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (kDelta) seen[j][e] = 0;
            if (j < kTokens / 8) out[j][e] = 0;
          }
        }
#pragma unroll
        for (int i = 0; i < K / 16; ++i) {
          const uint32_t operand[4] = {Pack(state[2 * i][0], state[2 * i][1]),
                                       Pack(state[2 * i][2], state[2 * i][3]),
                                       Pack(state[2 * i + 1][0], state[2 * i + 1][1]),
                                       Pack(state[2 * i + 1][2], state[2 * i + 1][3])};
#pragma unroll
          for (int n = 0; n < 4; ++n) {
            uint32_t b[4];
            if (kDelta) {
              LoadMatrices(b, PiecesFirst(stage + Layout::kW, 16 * n, 2 * i, kPieces, lane));
              Mma(seen[2 * n], operand, b[0], b[1]);
              Mma(seen[2 * n + 1], operand, b[2], b[3]);
            }
            if (outputs && n < kTokens / 16) {
              LoadMatrices(b,
                           PiecesFirst(stage + Layout::kQ, first + 16 * n, 2 * i, kPieces, lane));
              Mma(out[2 * n], operand, b[0], b[1]);
              Mma(out[2 * n + 1], operand, b[2], b[3]);
            }
          }
        }
      };
      if (kDelta) multiply_state(kOutputs, 0);
      // Vn^T as the operand of the next products, and times e^(bn - b): of the delta rule kept from
      // here on, else made when the state needs it.
      uint32_t update[4][4], aged[kDelta ? 4 : 1][4];
      const auto age_of = [&](int i, int m) {
        return *reinterpret_cast<const float2*>(decay + 64 + 8 * (2 * i + m / 2) + 2 * (lane % 4));
      };
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t values[4] = {0, 0, 0, 0};
        if (!transfer) {
          LoadMatricesTransposed(
              values, PiecesFirst(stage + Layout::kU, 16 * i, 2 * warp, value_pieces, lane));
        }
#pragma unroll
        for (int m = 0; m < 4; ++m) {
          update[i][m] = values[m];
          if (!kDelta) continue;
          // Matrix m: rows m % 2 (value columns), tokens 16 i + 8 (m / 2).
          const int j = 2 * i + m / 2, e = m % 2 * 2;
          float2 value = Unpack(values[m]);
          value.x -= seen[j][e];
          value.y -= seen[j][e + 1];
          const float2 age = age_of(i, m);
          update[i][m] = Pack(value.x, value.y);
          aged[kDelta ? i : 0][m] = Pack(value.x * age.x, value.y * age.y);
        }
      }
#pragma unroll
      for (int part = 0; kOutputs && part < kParts; ++part) {
        const int first = part * kTokens;
        if (!kDelta) multiply_state(true, first);
        if (!kVector) {
#pragma unroll
          for (int j = 0; j < kTokens / 8; ++j) {
            const float2 factor =
                *reinterpret_cast<const float2*>(decay + first + 8 * j + 2 * (lane % 4));
            out[j][0] *= factor.x;
            out[j][1] *= factor.y;
            out[j][2] *= factor.x;
            out[j][3] *= factor.y;
          }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int n = 0; n < kTokens / 16; ++n) {
            if (first + 16 * n < 16 * i) continue;
            uint32_t b[4];
            LoadMatrices(b, PiecesFirst(stage + Layout::kP, first + 16 * n, 2 * i, 8, lane));
            Mma(out[2 * n], update[i], b[0], b[1]);
            Mma(out[2 * n + 1], update[i], b[2], b[3]);
          }
        }
        if (kParts > 1) write_outputs(chunk, offset, first, out);
      }
      if (kDelta && goes_back) {
        if (chunk == 0 && segment.before > 0) {
          // It began in an earlier batch: back to the start kept then.
          if (!transfer) {
            const int64_t slot = ReadSlot(a.slots, s);
            const float* from = kOutputs && segment.count > 1
                                    ? a.chunk_start + (s * a.heads + head) * size
                                    : a.nats_state.chunk_start + (slot * a.heads + head) * size;
            const float log = a.nats_state.chunk_log_decay[slot * a.heads + head] + decay[129];
            load_state(from, a.nats_state.decay_over_softmax_chunks ? __expf(log) : 1.0f);
          }
        } else if (a.nats_state.decay_over_softmax_chunks) {
#pragma unroll
          for (int j = 0; j < K / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 4; ++e) state[j][e] *= decay[128];
          }
        }
      } else {
#pragma unroll
        for (int j = 0; j < K / 8; ++j) {
          float2 factor;
          if (kVector) {
            factor = *reinterpret_cast<const float2*>(decay + 8 * j + 2 * (lane % 4));
          } else {
            factor.x = factor.y = decay[128];
          }
          state[j][0] *= factor.x;
          state[j][1] *= factor.y;
          state[j][2] *= factor.x;
          state[j][3] *= factor.y;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          uint32_t operand[4];
#pragma unroll
          for (int m = 0; m < 4; ++m) {
            if (kDelta) {
              operand[m] = aged[kDelta ? i : 0][m];
            } else if (kVector) {
              operand[m] = update[i][m];
            } else {
              const float2 value = Unpack(update[i][m]), age = age_of(i, m);
              operand[m] = Pack(value.x * age.x, value.y * age.y);
            }
          }
#pragma unroll
          for (int n = 0; n < K / 16; ++n) {
            uint32_t b[4];
            LoadMatricesTransposed(b, RowsFirst(stage + Layout::kK, 16 * i, 2 * n, kPieces, lane));
            Mma(state[2 * n], operand, b[0], b[1]);
            Mma(state[2 * n + 1], operand, b[2], b[3]);
          }
        }
      }
      if (kOutputs && kParts == 1) write_outputs(chunk, offset, 0, out);
    }
  }
  if (kVector && !kOutputs && blockIdx.x == 0 && thread < K) {
    a.segment_decay[entry * K + thread] = segment_decay;
  }
  if (!live) return;
  if (kOutputs) {
    const int64_t slot = WriteSlot(a.slots, s);
    if (slot >= 0 && segment.index == segment.count - 1) {
      store_state(a.state + (slot * a.heads + head) * size);
    }
  } else {
    store_state(transfer ? a.transfer + entry * K * K : a.local + entry * size);
  }
}

template <int K, bool kDelta, bool kVector, bool kOutputs>
void LaunchWalk(const Chunked& a, cudaStream_t stream) {
  using Layout = WalkLayout<K, kDelta, kVector, kOutputs>;
  const int64_t columns = a.value_dim < kWalkColumns ? a.value_dim : kWalkColumns;
  const int64_t bytes = Layout::Bytes(static_cast<int>(columns));
  int64_t stages = (DeviceSharedBytes() - 2048) / bytes;
  stages = stages > 3 ? 3 : stages;
  Require(stages >= 2, "chunked mixer: too little shared memory");
  const auto kernel = WalkKernel<K, kDelta, kVector, kOutputs>;
  AllowShared(reinterpret_cast<const void*>(kernel), stages * bytes);
  int64_t blocks = CeilDiv(a.value_dim, columns);
  if (kDelta && !kOutputs) blocks += CeilDiv(K, columns);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(a.heads),
                  static_cast<unsigned>(a.segments));
  kernel<<<grid, static_cast<unsigned>(2 * columns), static_cast<size_t>(stages * bytes), stream>>>(
      a, static_cast<int>(stages));
  CheckLaunch("chunked walk");
}

}  // namespace natsl::kernels::cuda
