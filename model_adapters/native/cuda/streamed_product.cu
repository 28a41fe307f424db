// A few-row product whose weights come by bulk copies. A block owns up to 48 rows of the weights
// and asks for all of them before its input is ready; with one block a multiprocessor and few
// registers, several products of a decode step stand there at once, so that device memory never
// waits for the chain of dependent kernels. Then the input is made, and its product with the
// weights is one of tensor cores: the weights' rows by 16, the input's rows as 8 columns; warps
// take steps of the depth in turn and their sums are added in a fixed order.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/mma.cuh"
#include "model_adapters/native/cuda/skinny_input.cuh"
#include "model_adapters/native/cuda/streamed_product.h"

namespace natsl::model_adapters::native::cuda {
namespace {

using kernels::cuda::bf16;

constexpr int kMostTiles = 3;  // of 16 rows of weights
constexpr int64_t kMostBlockBytes = 100 * 1024;
// Outputs beyond which blocks of so few rows would come in many waves.
constexpr int64_t kMostOutputs = 16384;

// Shared memory of a block: its rows of weights, the input's rows (both padded by 16 bytes against
// bank conflicts), the warps' sums.
struct Layout {
  int64_t row_bytes, weights, input, sums, total;

  Layout(int64_t in, int64_t rows, int64_t block_rows) {
    const int64_t tiles = (block_rows + 15) / 16;
    row_bytes = in * 2 + 16;
    weights = 0;
    input = block_rows * row_bytes;
    sums = input + rows * row_bytes;
    total = sums + kSkinnyWarps * rows * tiles * 16 * 4;
  }
};

// Rows of a block: all blocks run at once where the memory of a multiprocessor lets them.
int64_t BlockRows(const SkinnyProductArgs& args) {
  const int64_t even = kernels::cuda::CeilDiv(args.out, kernels::cuda::DeviceProcessors());
  int64_t rows = even < 16 * kMostTiles ? even : 16 * kMostTiles;
  while (rows > 1 && Layout(args.in, args.rows, rows).total > kMostBlockBytes) --rows;
  return rows;
}

__device__ void AskFor(uint32_t to, const void* from, int bytes, uint32_t barrier,
                       uint64_t policy) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;\n" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
#endif
}

template <typename Y, int kTiles>
__global__ void __launch_bounds__(kSkinnyThreads, 3)
    StreamedKernel(SkinnyProductArgs args, int block_rows, Layout layout) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char shared[];
  __shared__ uint64_t arrived;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int in = static_cast<int>(args.in), batch = static_cast<int>(args.rows);
  const int row_bytes = static_cast<int>(layout.row_bytes);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * block_rows;
  const int count = static_cast<int>(min(int64_t{block_rows}, args.out - first));
  const uint32_t base = kernels::cuda::SharedAddress(shared);
  const uint32_t barrier = kernels::cuda::SharedAddress(&arrived);

  if (warp == 0) {
    if (lane == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n" ::"r"(barrier) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier),
                   "r"(count * in * 2)
                   : "memory");
    }
    __syncwarp();
    // Read once a step: what the L2 cache holds for longer (states, activations) stays there.
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
    const bf16* weight = static_cast<const bf16*>(args.weight) + first * in;
    for (int r = lane; r < count; r += 32) {
      AskFor(base + static_cast<uint32_t>(r * row_bytes), weight + int64_t{r} * in, in * 2, barrier,
             policy);
    }
  }
  const bool held = HeldInput<bf16>::Fits(args);
  HeldInput<bf16> norm;
  if (held) norm.Ahead(args);
  kernels::cuda::AwaitPrevious();
  auto* input = reinterpret_cast<uint4*>(shared + layout.input);
  if (held) {
    norm.Make(args, input);
  } else {
    MakeInput<bf16>(args, input, row_bytes / 16);
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\nSTREAMED_WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@done bra STREAMED_DONE;\nbra STREAMED_WAIT;\nSTREAMED_DONE:\n}\n" ::"r"(barrier)
      : "memory");

  float acc[2][kTiles][4] = {};  // in turn, for shorter chains
  const int column = lane / 4;   // the input's row that this lane reads
  const char* mine =
      shared + layout.input + (column < batch ? column : 0) * row_bytes + lane % 4 * 4;
  uint32_t rows[kTiles];
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
    const int row = min(16 * t + lane % 16, count - 1);
    rows[t] = base + static_cast<uint32_t>(row * row_bytes + lane / 16 * 16);
  }
  const int steps = in / 16;
#pragma unroll 2
  for (int step = warp; step < steps; step += 2 * kSkinnyWarps) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = step + half * kSkinnyWarps;
      if (at >= steps) break;
      uint32_t b0 = *reinterpret_cast<const uint32_t*>(mine + at * 32);
      uint32_t b1 = *reinterpret_cast<const uint32_t*>(mine + at * 32 + 16);
      if (column >= batch) b0 = b1 = 0;
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        uint32_t a[4];
        kernels::cuda::LoadMatrices(a, rows[t] + static_cast<uint32_t>(at * 32));
        kernels::cuda::Mma(acc[half][t], a, b0, b1);
      }
    }
  }
  // Sums [warp][input row][weight row].
  auto* sums = reinterpret_cast<float*>(shared + layout.sums);
  constexpr int kRows = 16 * kTiles;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int n = 2 * (lane % 4) + e % 2, m = 16 * t + lane / 4 + e / 2 * 8;
      if (n < batch) sums[(warp * batch + n) * kRows + m] = acc[0][t][e] + acc[1][t][e];
    }
  }
  __syncthreads();
  for (int i = thread; i < batch * count; i += kSkinnyThreads) {
    const int n = i / count, m = i % count;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kSkinnyWarps; ++w) sum += sums[(w * batch + n) * kRows + m];
    if (args.bias != nullptr)
      sum += kernels::cuda::ToFloat(static_cast<const bf16*>(args.bias)[first + m]);
    static_cast<Y*>(args.y)[n * args.y_stride + first + m] = kernels::cuda::FromFloat<Y>(sum);
  }
#endif
}

template <typename Y, int kTiles>
void Launch(const SkinnyProductArgs& args, int64_t block_rows, cudaStream_t stream) {
  const auto kernel = StreamedKernel<Y, kTiles>;
  const Layout layout(args.in, args.rows, block_rows);
  kernels::cuda::AllowShared(reinterpret_cast<const void*>(kernel), kMostBlockBytes);
  const kernels::cuda::OverlappedLaunch launch(
      dim3(static_cast<unsigned>(kernels::cuda::CeilDiv(args.out, block_rows))),
      dim3(kSkinnyThreads), layout.total, stream);
  kernels::cuda::Check(
      cudaLaunchKernelEx(launch.config(), kernel, args, static_cast<int>(block_rows), layout),
      "streamed product");
}

template <typename Y>
void LaunchTiles(const SkinnyProductArgs& args, cudaStream_t stream) {
  const int64_t rows = BlockRows(args);
  if (rows <= 16) return Launch<Y, 1>(args, rows, stream);
  if (rows <= 32) return Launch<Y, 2>(args, rows, stream);
  Launch<Y, 3>(args, rows, stream);
}

}  // namespace

bool StreamedFits(const SkinnyProductArgs& args) {
  return args.dtype == kernels::DType::kBFloat16 && args.in % 16 == 0 && args.out <= kMostOutputs &&
         kernels::cuda::DeviceCapability() >= 90 &&
         Layout(args.in, args.rows, 8).total <= kMostBlockBytes;
}

void RunStreamedProduct(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.float_output) {
    LaunchTiles<float>(args, stream);
  } else {
    LaunchTiles<bf16>(args, stream);
  }
}

}  // namespace natsl::model_adapters::native::cuda
