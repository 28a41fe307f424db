// Tensor-core building blocks of sm_80 and later: bf16 tiles in swizzled shared memory, ldmatrix,
// mma.m16n8k16, asynchronous copies.
//
// A tile's row is a whole number of 128-byte lines; the 16-byte piece c of row r lies at piece
// c ^ (r % 8), so that eight rows of one column of pieces fall into different banks.
#pragma once

#include "kernels/cuda/device.cuh"

namespace natsl::kernels::cuda {

__device__ inline uint32_t SharedAddress(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

/// Byte offset of piece `piece` of row `row` in a tile of `pieces` 16-byte pieces a row.
__device__ inline uint32_t TileOffset(int row, int piece, int pieces) {
  return static_cast<uint32_t>((row * pieces + (piece ^ (row & 7))) * 16);
}

__device__ inline void CopyAsync16(uint32_t to, const void* from, bool fill) {
  const int bytes = fill ? 16 : 0;  // else zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ inline void CommitCopies() { asm volatile("cp.async.commit_group;\n"); }
template <int kPending>
__device__ inline void WaitCopies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

__device__ inline void LoadMatrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ inline void LoadMatricesTransposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// c += a b: a [16, 16] row-major, b [16, 8], c [16, 8] float32.
__device__ inline void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ inline float2 Unpack(uint32_t pair) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&pair));
}

// Addresses of the four 8x8 matrices that a lane names, for 16 rows and two pieces: `row` is a
// multiple of 16, `piece` even, so that only four patterns of the lane's bits exist.
__device__ inline uint32_t LaneAddress(uint32_t tile, int row, int lane_row, int piece,
                                       int lane_piece, int pieces, int lane) {
  return tile + static_cast<uint32_t>((row + lane_row) * pieces * 16 + piece / 8 * 128 +
                                      ((piece % 8) ^ (lane_piece ^ (lane % 8))) * 16);
}
/// A operand, or B operand stored [k, n] (transposed load): rows in the first step.
__device__ inline uint32_t RowsFirst(uint32_t tile, int row, int piece, int pieces, int lane) {
  return LaneAddress(tile, row, lane % 16, piece, lane / 16, pieces, lane);
}
/// B operand stored [n, k], or an A operand stored transposed (transposed load): pieces first.
__device__ inline uint32_t PiecesFirst(uint32_t tile, int row, int piece, int pieces, int lane) {
  return LaneAddress(tile, row, lane % 8 + lane / 16 * 8, piece, lane / 8 % 2, pieces, lane);
}

}  // namespace natsl::kernels::cuda
