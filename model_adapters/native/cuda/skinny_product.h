// Products of few rows, which decoding is made of: each weight is read once, and what comes before
// the product (a norm, a gate) happens in the same kernel. Same conventions as
// kernels/cuda/common.h.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/norm.h"

namespace natsl::model_adapters::native::cuda {

constexpr int64_t kMostSkinnyRows = 8;

/// y = f(x) W^T + b. f(x) is rounded to dtype, as it is where it is computed apart.
struct SkinnyProductArgs {
  kernels::DType dtype = kernels::DType::kBFloat16;  ///< of every activation, weight and bias
  bool float_output = false;                         ///< y is float32 all the same
  const void* x = nullptr;                           ///< [rows, in]
  int64_t x_stride = 0;

  enum class Input {
    kPlain,      ///< x
    kGated,      ///< silu(x) * gate
    kNormed,     ///< norm(x + residual) over all columns; kRms, kRmsOnePlus, kLayer
    kHeadNormed  ///< RMS norm over groups of `group` columns, with silu(gate) before or after
  };
  Input input = Input::kPlain;
  const void* gate = nullptr;  ///< [rows, in]; kHeadNormed: may be null
  int64_t gate_stride = 0;
  const void* residual = nullptr;  ///< kNormed: [rows, in] or null
  int64_t residual_stride = 0;
  void* sum = nullptr;  ///< kNormed: x + residual [rows, in] contiguous; another buffer than both
  kernels::NormOp op = kernels::NormOp::kRms;
  kernels::GateOrder gate_order = kernels::GateOrder::kNormFirst;
  const float* norm_weight = nullptr;  ///< [in] or, kHeadNormed, [group] or [in]; null: ones
  const float* norm_bias = nullptr;
  bool weight_per_group = false;
  int64_t group = 0;
  double eps = 0;

  const void* weight = nullptr;  ///< [out, in] contiguous
  const void* bias = nullptr;    ///< [out] or null
  void* y = nullptr;             ///< [rows, out]
  int64_t y_stride = 0;
  int64_t rows = 0, in = 0, out = 0;
};

/// Whether RunSkinnyProduct takes these sizes: few rows, `in` (and groups) in whole pieces of 16
/// bytes, aligned.
bool SkinnyFits(const SkinnyProductArgs& args);
void RunSkinnyProduct(const SkinnyProductArgs& args, cudaStream_t stream);

}  // namespace natsl::model_adapters::native::cuda
