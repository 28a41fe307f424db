// CUDA kernels of the training layers' memory-bound operators: one pass each over what they read.
// Conventions of kernels/cuda/common.h (device pointers, launches only, capturable, deterministic).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace natsl::training::cuda {

enum class Element { kFloat32, kBFloat16 };

/// The causal depthwise convolution of width 4, then SiLU where asked for: y_t = act(sum over j of
/// taps[j] x_{t-3+j}), x before the first token zero.
struct ConvArgs {
  Element element = Element::kFloat32;
  const void* x = nullptr;  ///< [batch, tokens, channels]
  int64_t x_batch_stride = 0, x_stride = 0;
  const void* taps = nullptr;  ///< [4, channels]
  void* y = nullptr;           ///< [batch, tokens, channels], contiguous
  int64_t batch = 0, tokens = 0, channels = 0;
  bool silu = true;
  // Backward only: the gradient of y and of x (contiguous), and [ConvRuns, 4, channels] float32
  // partial sums of the taps' gradient.
  const void* y_gradient = nullptr;
  void* x_gradient = nullptr;
  float* taps_gradient = nullptr;
};
/// Rows of x at 16-byte boundaries and channels in whole vectors: else no kernel here.
bool ConvIsSupported(const ConvArgs& args);
int64_t ConvRuns(int64_t batch, int64_t tokens);
void RunConv(const ConvArgs& args, cudaStream_t stream);
void RunConvGradient(const ConvArgs& args, cudaStream_t stream);

/// y = silu(x[:, :width]) * x[:, width:], x [rows, 2 width] contiguous. With `y_gradient`:
/// x_gradient instead of y.
struct SwiGluArgs {
  Element element = Element::kFloat32;
  const void* x = nullptr;
  void* y = nullptr;
  const void* y_gradient = nullptr;
  void* x_gradient = nullptr;
  int64_t rows = 0, width = 0;
};
bool SwiGluIsSupported(const SwiGluArgs& args);
void RunSwiGlu(const SwiGluArgs& args, cudaStream_t stream);

/// A [batch, tokens, heads, width] tensor whose last dimension is contiguous.
struct Heads {
  const void* data = nullptr;
  int64_t batch_stride = 0, token_stride = 0, head_stride = 0;
};
struct MutableHeads {
  void* data = nullptr;
  int64_t batch_stride = 0, token_stride = 0, head_stride = 0;
};

/// y = scale x / sqrt(sum x^2 + eps) * weight * silu(gate), a row a head; weight [width] and gate
/// may be null. Backward (y_gradient set): x_gradient, gate_gradient, and [HeadNormBlocks, width]
/// float32 partial sums of the weight's gradient.
struct HeadNormArgs {
  Element element = Element::kFloat32;
  Heads x, gate, y_gradient;
  const void* weight = nullptr;
  MutableHeads y, x_gradient, gate_gradient;
  float* weight_gradient = nullptr;
  int64_t batch = 0, tokens = 0, heads = 0, width = 0;
  float scale = 1, eps = 0;
};
/// Widths 32, 64, 128 and 256, every stride and address at whole vectors.
bool HeadNormIsSupported(const HeadNormArgs& args);
int64_t HeadNormBlocks();
void RunHeadNorm(const HeadNormArgs& args, cudaStream_t stream);

}  // namespace natsl::training::cuda
