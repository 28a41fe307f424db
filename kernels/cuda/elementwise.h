// Elementwise operations of the layers on the device: activations, gates, decays, rotary embedding.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

enum class Unary {
  kIdentity,
  kSilu,
  kRelu,
  kSquaredRelu,
  kSigmoid,
  kTanh,
  kGeluTanh,
  kGelu,  ///< erf form
  kLogSigmoid,
  kEluPlusOne,
  kNegativeExp,  ///< -exp(x)
};

/// y = act(x + bias), or act(x + bias) * factor where there is one; y may be x or factor. The input
/// may be of another type than the output.
struct ActivationArgs {
  Unary activation = Unary::kSilu;
  DType dtype = DType::kBFloat16;         ///< of x and factor
  DType output_dtype = DType::kBFloat16;  ///< of y
  const void* x = nullptr;                ///< [rows, columns]
  int64_t x_stride = 0;
  const float* bias = nullptr;   ///< [columns] or null
  const void* factor = nullptr;  ///< [rows, columns] or null
  int64_t factor_stride = 0;
  void* y = nullptr;  ///< [rows, columns]
  int64_t y_stride = 0;
  int64_t rows = 0, columns = 0;
  double scale = 1;        ///< the result is multiplied by this
  double minimum = -1e38;  ///< then raised to at least this (GLA's clamp)
};
void RunActivation(const ActivationArgs& args, cudaStream_t stream);

/// y = a * x + b * z elementwise; with `mix` [columns] float32, y = x + mix * z (token shifts).
struct CombineArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;  ///< [rows, columns]
  int64_t x_stride = 0;
  const void* z = nullptr;
  int64_t z_stride = 0;
  const float* mix = nullptr;          ///< [columns] or null
  const void* coefficients = nullptr;  ///< [rows, columns] of dtype or null: y = x + (c + mix) * z
  int64_t coefficients_stride = 0;
  void* y = nullptr;  ///< may be x or z
  int64_t y_stride = 0;
  int64_t rows = 0, columns = 0;
  double a = 1, b = 1;
};
void RunCombine(const CombineArgs& args, cudaStream_t stream);

/// The delta rule's gates: g = negative_a * softplus(a + dt_bias), beta = sigmoid(b) * beta_scale.
struct DeltaGateArgs {
  DType dtype = DType::kBFloat16;
  const void* a = nullptr;  ///< [rows, heads] or null: g isn't written
  int64_t a_stride = 0;
  const void* b = nullptr;  ///< [rows, heads] or null: beta isn't written
  int64_t b_stride = 0;
  const float* negative_a = nullptr;  ///< [heads], -exp(A_log)
  const float* dt_bias = nullptr;     ///< [heads]
  double beta_scale = 1;
  float* g = nullptr;     ///< [rows, heads]
  float* beta = nullptr;  ///< [rows, heads]
  int64_t rows = 0, heads = 0;
};
void RunDeltaGates(const DeltaGateArgs& args, cudaStream_t stream);

/// HGRN and HGRN2: g = log(L + (1-L) sigmoid(f)) (bound null: log sigmoid(f)); open = 1 - exp(g),
/// times silu(x) where there is one.
struct ForgetGateArgs {
  DType dtype = DType::kBFloat16;
  const void* f = nullptr;  ///< [rows, columns]
  int64_t f_stride = 0;
  const void* x = nullptr;  ///< [rows, columns] or null
  int64_t x_stride = 0;
  const float* bound = nullptr;  ///< L [columns] in [0, 1), or null
  float* g = nullptr;            ///< [rows, columns]
  void* open = nullptr;          ///< [rows, columns] contiguous
  int64_t rows = 0, columns = 0;
};
void RunForgetGate(const ForgetGateArgs& args, cudaStream_t stream);

/// Mamba2: dt = clamp(softplus(raw + bias), limits), g = dt * negative_a, v = dt * x.
struct Mamba2GateArgs {
  DType dtype = DType::kBFloat16;
  const void* raw = nullptr;  ///< [rows, heads]
  int64_t raw_stride = 0;
  const float* dt_bias = nullptr;     ///< [heads]
  const float* negative_a = nullptr;  ///< [heads]
  const void* x = nullptr;            ///< [rows, heads, head_dim]
  int64_t x_stride = 0;
  float* g = nullptr;  ///< [rows, heads]
  void* v = nullptr;   ///< [rows, heads, head_dim] contiguous
  int64_t rows = 0, heads = 0, head_dim = 0;
  double minimum = 0, maximum = 1e38;
};
void RunMamba2Gates(const Mamba2GateArgs& args, cudaStream_t stream);

/// y += x * skip. skip is [heads], or [heads, head_dim] where `skip_per_channel`.
struct SkipArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;  ///< [rows, heads, head_dim]
  int64_t x_stride = 0;
  const float* skip = nullptr;
  bool skip_per_channel = false;
  void* y = nullptr;  ///< [rows, heads, head_dim] contiguous
  int64_t rows = 0, heads = 0, head_dim = 0;
};
void RunSkip(const SkipArgs& args, cudaStream_t stream);

/// Softmax over pairs (NAtS-L's omega): mix [rows, pairs, 2] float32 from logits [rows, 2 * pairs].
struct PairSoftmaxArgs {
  DType dtype = DType::kBFloat16;
  const void* logits = nullptr;
  int64_t logits_stride = 0;
  float* mix = nullptr;
  int64_t rows = 0, pairs = 0;
};
void RunPairSoftmax(const PairSoftmaxArgs& args, cudaStream_t stream);

/// Rotary embedding in place on the first `dims` channels of each head, half-split pairs.
struct RopeArgs {
  DType dtype = DType::kBFloat16;
  void* x = nullptr;  ///< [T, heads, head_dim]
  int64_t x_stride = 0;
  const int64_t* positions = nullptr;          ///< [T]
  const float* inverse_frequencies = nullptr;  ///< [dims / 2]
  double attention_factor = 1;
  int64_t tokens = 0, heads = 0, head_dim = 0, dims = 0;
};
void RunRope(const RopeArgs& args, cudaStream_t stream);

/// positions[r] = first[s] + r - offsets[s] for every packed row.
void RunPositions(const ChunkPlan& plan, int64_t* positions, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
