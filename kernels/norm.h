// Norms over the last dimension: RMSNorm (w or 1+w), LayerNorm, with fused residual add and fused
// swish gate; L2 norm of heads. Statistics in float32 (double in the reference).
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

enum class NormOp {
  kRms,
  kRmsOnePlus,
  kLayer,
  kL2,
  kSum
};  ///< kL2: x / sqrt(sum x^2 + eps); kSum: x / sum x

/// Which comes first where there is a gate: norm then weight then *silu(gate), or x*silu(gate) then
/// norm (Mamba2).
enum class GateOrder { kNormFirst, kGateFirst };

struct NormArgs {
  NormOp op = NormOp::kRms;
  DType dtype = DType::kFloat32;
  const void* x = nullptr;  ///< [rows, groups, width], row stride x_stride
  int64_t x_stride = 0;
  const void* residual = nullptr;  ///< same layout, stride residual_stride; x + residual is normed
  int64_t residual_stride = 0;
  void* sum = nullptr;         ///< where x + residual goes ([rows, groups*width], contiguous)
  const void* gate = nullptr;  ///< [rows, groups*width], stride gate_stride, or null
  int64_t gate_stride = 0;
  GateOrder gate_order = GateOrder::kNormFirst;
  const float* weight = nullptr;  ///< null: ones. [width], or [groups*width] if weight_per_group
  const float* bias = nullptr;    ///< layer norm; same shape as weight
  bool weight_per_group = false;
  void* y = nullptr;  ///< [rows, groups, width], row stride y_stride; may be x
  int64_t y_stride = 0;
  int64_t rows = 0, groups = 1, width = 0;
  double eps = 1e-6;
  double scale = 1;  ///< y is multiplied by this (q's K^-0.5)
};

void Validate(const NormArgs& args);
void RunNormReference(const NormArgs& args);
void RunNormCpu(const NormArgs& args);

/// NAtS-L merge (nats_l.md §6): y = (w1*n1 + w2*n2) * gate*sigma(gate); n1, n2 RMS norms over
/// `width` of the delta and the attention branch with their own weights, w1, w2 per (row, group).
struct MergeNormArgs {
  DType dtype = DType::kFloat32;
  const void* delta = nullptr;      ///< [rows, groups, width] contiguous
  const void* attention = nullptr;  ///< same
  const void* gate = nullptr;       ///< same, row stride gate_stride
  int64_t gate_stride = 0;
  const float* mix = nullptr;  ///< [rows, groups, 2]: 0 = delta, 1 = attention (after softmax)
  const float* delta_weight = nullptr;      ///< [width]
  const float* attention_weight = nullptr;  ///< [width]
  void* y = nullptr;                        ///< [rows, groups, width] contiguous
  int64_t rows = 0, groups = 0, width = 0;
  double eps = 1e-6;
};

void Validate(const MergeNormArgs& args);
void RunMergeNormReference(const MergeNormArgs& args);
void RunMergeNormCpu(const MergeNormArgs& args);

}  // namespace natsl::kernels
