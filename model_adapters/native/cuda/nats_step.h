// Decode steps of a NAtS-L layer in few kernels: the router, and what follows the attention. The
// same arithmetic, dtype's roundings included, as the kernels of a pass one after the other
// (kernels/cuda/nats.h). Same conventions as kernels/cuda/common.h.
#pragma once

#include "kernels/cuda/attention.h"
#include "model_adapters/native/cuda/skinny_product.h"

namespace natsl::model_adapters::native::cuda {

/// The layer's input into the running mean of its chunk; where the step completes the chunk, the
/// choices of its heads.
struct RouteStepArgs {
  /// The norm of the layer's input, as a few-row product has it (kNormed; weight, y and sum
  /// unused).
  SkinnyProductArgs input;
  const void* score_weight = nullptr;  ///< [2 * heads, hidden], of the input's dtype
  const void* score_bias = nullptr;    ///< [2 * heads] or null
  const int64_t* positions = nullptr;  ///< [sequences]
  kernels::cuda::StateSlots slots;
  float* pooled = nullptr;  ///< [slots, hidden]
  int64_t heads = 0, layer = 0;
  double forced_share = -1;              ///< below 0: chosen by the scores
  uint8_t* softmax = nullptr;            ///< [sequences, heads], written where a chunk completes
  unsigned long long* counts = nullptr;  ///< [heads, 2]
};
bool RouteStepFits(const RouteStepArgs& args);
void RunRouteStep(const RouteStepArgs& args, cudaStream_t stream);

/// Joins the attention's parts, weighs both branches by the mixing logits of the convolved queries,
/// norms, gates and adds them, and closes chunks as RunCloseChunks does.
struct MergeStepArgs {
  kernels::DType dtype = kernels::DType::kBFloat16;
  const float* parts = nullptr;  ///< of RunDecodeAttention; null where `splits` is 1
  int64_t splits = 1;
  const void* attention = nullptr;  ///< splits == 1: [sequences, heads, width]
  const void* delta = nullptr;      ///< [sequences, heads, width]
  const void* gate = nullptr;       ///< [sequences, heads * width]
  int64_t gate_stride = 0;
  const void* q = nullptr;  ///< [sequences, mix_in]
  int64_t q_stride = 0;
  const void* mix_weight = nullptr;  ///< [2 * heads, mix_in]
  const void* mix_bias = nullptr;    ///< [2 * heads] or null
  int64_t mix_in = 0;
  const float* delta_weight = nullptr;      ///< [width]
  const float* attention_weight = nullptr;  ///< [width]
  double eps = 0;
  void* y = nullptr;  ///< [sequences, heads * width]
  int64_t sequences = 0, heads = 0, width = 0;

  const int64_t* positions = nullptr;
  const uint8_t* softmax = nullptr;  ///< [sequences, table.groups]
  const int32_t* lists = nullptr;
  kernels::cuda::PageTable table;
};
/// Widths up to 256.
void RunMergeStep(const MergeStepArgs& args, cudaStream_t stream);

}  // namespace natsl::model_adapters::native::cuda
