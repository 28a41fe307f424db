// The few-row product: weights are asked for before the input is ready (programmatic dependent
// launch), the input is made once a block in shared memory, a warp computes one or a few outputs.
#include "kernels/cuda/launch.h"
#include "model_adapters/native/cuda/skinny_input.cuh"
#include "model_adapters/native/cuda/streamed_product.h"

namespace natsl::model_adapters::native::cuda {
namespace {

constexpr int kThreads = kSkinnyThreads;
constexpr int kWarps = kSkinnyWarps;
constexpr int64_t kMostSharedBytes = 96 * 1024;
// Outputs beyond which a warp computes two, and four. Three blocks of pairs fit a multiprocessor:
// all blocks of a layer's products run at once on 132 of them.
constexpr int64_t kPairOutputs = 2112, kQuadOutputs = 16384;

// kRows >= args.rows; kAhead: pieces of a weight row that a lane asks for before the input is
// there.
template <typename T, typename Y, int kRows, int kOutputs, int kAhead>
__global__ void __launch_bounds__(kThreads, kOutputs == 2 ? 3 : 2)
    SkinnyKernel(SkinnyProductArgs args) {
  constexpr int N = Piece<T>::kSize;
  extern __shared__ uint4 shared[];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  const int pieces = static_cast<int>(args.in / N);
  const uint4* rows[kOutputs];
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int64_t n = first + o < args.out ? first + o : args.out - 1;
    rows[o] = reinterpret_cast<const uint4*>(static_cast<const T*>(args.weight) + n * args.in);
  }
  uint4 ahead[kOutputs][kAhead];
#pragma unroll
  for (int j = 0; j < kAhead; ++j) {
    const int p = lane + 32 * j;
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      ahead[o][j] = p < pieces ? __ldg(rows[o] + p) : make_uint4(0, 0, 0, 0);
    }
  }
  const bool held = kRows == 1 && HeldInput<T>::Fits(args);
  HeldInput<T> norm;
  if (held) norm.Ahead(args);
  kernels::cuda::AwaitPrevious();
  if (held) {
    norm.Make(args, shared);
  } else {
    MakeInput<T>(args, shared, pieces);
  }
  __syncthreads();
  float sums[kOutputs][kRows] = {};
  const auto add = [&](int p, const uint4(&weights)[kOutputs]) {
    float w[kOutputs][N];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) Piece<T>::Widen(weights[o], w[o]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= args.rows) break;
      float v[N];
      Piece<T>::Widen(shared[r * pieces + p], v);
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
#pragma unroll
        for (int i = 0; i < N; ++i) sums[o][r] = fmaf(v[i], w[o][i], sums[o][r]);
      }
    }
  };
#pragma unroll
  for (int j = 0; j < kAhead; ++j) {
    const int p = lane + 32 * j;
    if (p >= pieces) break;
    uint4 weights[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) weights[o] = ahead[o][j];
    add(p, weights);
  }
#pragma unroll 4
  for (int p = lane + 32 * kAhead; p < pieces; p += 32) {
    uint4 weights[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) weights[o] = __ldg(rows[o] + p);
    add(p, weights);
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o) {
    const int64_t n = first + o;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= args.rows) break;
      const float sum = kernels::cuda::LaneSum(sums[o][r]);
      if (lane != r || n >= args.out) continue;
      const float bias =
          args.bias == nullptr ? 0 : kernels::cuda::ToFloat(static_cast<const T*>(args.bias)[n]);
      static_cast<Y*>(args.y)[r * args.y_stride + n] = kernels::cuda::FromFloat<Y>(sum + bias);
    }
  }
}

template <typename T, typename Y, int kRows, int kOutputs, int kAhead>
void Launch(const SkinnyProductArgs& args, cudaStream_t stream) {
  const auto kernel = SkinnyKernel<T, Y, kRows, kOutputs, kAhead>;
  const int64_t bytes = args.rows * args.in * static_cast<int64_t>(sizeof(T));
  if (bytes > 48 * 1024) {
    kernels::cuda::AllowShared(reinterpret_cast<const void*>(kernel), kMostSharedBytes);
  }
  const kernels::cuda::OverlappedLaunch launch(
      dim3(static_cast<unsigned>(kernels::cuda::CeilDiv(args.out, kWarps * kOutputs))),
      dim3(kThreads), bytes, stream);
  kernels::cuda::Check(cudaLaunchKernelEx(launch.config(), kernel, args), "skinny product");
}

template <typename T, typename Y, int kRows>
void LaunchRows(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.out <= kPairOutputs) return Launch<T, Y, kRows, 1, 12>(args, stream);
  if (args.out <= kQuadOutputs) return Launch<T, Y, kRows, 2, 4>(args, stream);
  Launch<T, Y, kRows, 4, 4>(args, stream);
}

template <typename T, typename Y>
void LaunchTypes(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (args.rows == 1) return LaunchRows<T, Y, 1>(args, stream);
  if (args.rows == 2) return LaunchRows<T, Y, 2>(args, stream);
  if (args.rows <= 4) return LaunchRows<T, Y, 4>(args, stream);
  LaunchRows<T, Y, 8>(args, stream);
}

}  // namespace

bool SkinnyFits(const SkinnyProductArgs& args) {
  const int64_t bytes = args.dtype == kernels::DType::kBFloat16 ? 2 : 4;
  const auto aligned = [&](const void* p, int64_t stride) {
    return reinterpret_cast<uintptr_t>(p) % 16 == 0 && stride * bytes % 16 == 0;
  };
  return args.rows >= 1 && args.rows <= kMostSkinnyRows && args.in * bytes % 16 == 0 &&
         args.group * bytes % 16 == 0 && args.rows * args.in * bytes <= kMostSharedBytes &&
         aligned(args.x, args.x_stride) && aligned(args.gate, args.gate_stride) &&
         aligned(args.residual, args.residual_stride) && aligned(args.weight, args.in);
}

void RunSkinnyProduct(const SkinnyProductArgs& args, cudaStream_t stream) {
  if (StreamedFits(args)) return RunStreamedProduct(args, stream);
  if (args.dtype == kernels::DType::kFloat32) {
    LaunchTypes<float, float>(args, stream);
  } else if (args.float_output) {
    LaunchTypes<__nv_bfloat16, float>(args, stream);
  } else {
    LaunchTypes<__nv_bfloat16, __nv_bfloat16>(args, stream);
  }
}

}  // namespace natsl::model_adapters::native::cuda
