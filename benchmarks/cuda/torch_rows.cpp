// natsl-kernel-bench: LibTorch's own operators at the sizes of the 340M models, beside ours: matrix
// products (cuBLASLt) and causal attention (cuDNN, flash).
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <c10/core/InferenceMode.h>

#include "benchmarks/cuda/bench_support.h"
#include "model_adapters/native/torch_headers.h"

namespace natsl::kernels::cuda::bench {
namespace {

at::Tensor RandomTensor(at::IntArrayRef shape) {
  return at::randn(shape, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
}

void BenchmarkMatmul(benchmark::State& state, int64_t rows, int64_t in, int64_t out) {
  const c10::InferenceMode inference(true);
  const at::Tensor x = RandomTensor({rows, in}), weight = RandomTensor({out, in});
  at::Tensor y = at::mm(x, weight.t());
  Work work;
  work.run = [&] { at::mm_out(y, x, weight.t()); };
  work.flops = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  work.bytes = 2.0 * static_cast<double>(rows * in + in * out + rows * out);
  Time(state, work);
}

void BenchmarkSdpa(benchmark::State& state, bool cudnn, int64_t heads, int64_t dim,
                   int64_t tokens) {
  const c10::InferenceMode inference(true);
  const at::Tensor q = RandomTensor({1, heads, tokens, dim}),
                   k = RandomTensor({1, heads, tokens, dim}),
                   v = RandomTensor({1, heads, tokens, dim});
  Work work;
  work.run = [&] {
    if (cudnn) {
      at::_scaled_dot_product_cudnn_attention(q, k, v, std::nullopt, /*compute_log_sumexp=*/false,
                                              /*dropout_p=*/0.0, /*is_causal=*/true);
    } else {
      at::_scaled_dot_product_flash_attention(q, k, v, /*dropout_p=*/0.0, /*is_causal=*/true);
    }
  };
  const auto length = static_cast<double>(tokens);
  work.flops = static_cast<double>(heads * dim) * 2 * length * length;
  Time(state, work);
}

}  // namespace

void AddTorchRows() {
  Add("torch/matmul_1024x4624", BenchmarkMatmul, kLong, int64_t{1024}, int64_t{4624});
  Add("torch/matmul_1024x5632", BenchmarkMatmul, kLong, int64_t{1024}, int64_t{5632});
  Add("torch/matmul_2816x1024", BenchmarkMatmul, kLong, int64_t{2816}, int64_t{1024});
  Add("torch/matmul_row_1024x5632", BenchmarkMatmul, int64_t{1}, int64_t{1024}, int64_t{5632});
  for (const int64_t tokens : {int64_t{16384}, kLong}) {
    const std::string at = "/" + std::to_string(tokens);
    Add("torch/attention_cudnn_16x64" + at, BenchmarkSdpa, true, int64_t{16}, int64_t{64}, tokens);
    Add("torch/attention_flash_16x64" + at, BenchmarkSdpa, false, int64_t{16}, int64_t{64}, tokens);
  }
}

}  // namespace natsl::kernels::cuda::bench
