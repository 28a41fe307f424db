// A decode step of a (gated) delta rule layer in one kernel, from the projections to the outputs:
// short convolutions with SiLU, gates, L2 norms, recurrence, NAtS-L's chunk states. The same
// arithmetic, dtype's roundings included, as RunShortConv, RunDeltaGates and RunDeltaRule one after
// the other. It reads states, tails and weights before the projections are there (see
// OverlappedLaunch).
#pragma once

#include "kernels/cuda/delta_rule.h"

namespace natsl::kernels::cuda {

struct DeltaStepArgs {
  DType dtype = DType::kBFloat16;
  /// The projections of a row: columns q_at, k_at, v_at are the channels of the convolution.
  const void* x = nullptr;  ///< [sequences, ...]
  int64_t x_stride = 0;
  int64_t q_at = 0, k_at = 0, v_at = 0;
  const float* conv_weight = nullptr;  ///< [channels, 4]
  const float* conv_bias = nullptr;    ///< [channels] or null
  float* tails = nullptr;              ///< [slots, 3, channels]
  int64_t channels = 0;
  /// The convolved q, k, v, in the same columns; null: nobody needs them.
  void* mixed = nullptr;
  int64_t mixed_stride = 0;

  // Gates as RunDeltaGates has them; a null: no decay, b null: beta is beta_scale.
  const void* a = nullptr;  ///< [sequences, heads], of dtype
  int64_t a_stride = 0;
  const float* negative_a = nullptr;
  const float* dt_bias = nullptr;
  const void* b = nullptr;
  int64_t b_stride = 0;
  double beta_scale = 1;

  void* o = nullptr;  ///< [sequences, heads, V]
  int64_t o_stride = 0;
  float* state = nullptr;  ///< [slots, heads, K, V]
  StateSlots slots;
  const NatsDelta* nats = nullptr;     ///< host pointer, or null
  const int64_t* positions = nullptr;  ///< [sequences], NAtS-L only
  int64_t sequences = 0, heads = 0, key_dim = 0, value_dim = 0;
  double scale = 1;
};

/// Whether RunDeltaStep takes these sizes on this device: Hopper, K up to 256, V up to 256.
bool DeltaStepFits(const DeltaStepArgs& args);
void RunDeltaStep(const DeltaStepArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
