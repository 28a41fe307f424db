// The two ends of a network on the device: embeddings, and what is read from rows of logits.
#pragma once

#include "kernels/cuda/common.h"

namespace natsl::kernels::cuda {

/// What is chosen of logits that aren't all numbers.
constexpr int32_t kNoId = -1;

/// y[r] = table[ids[r]], ids int32 in [0, vocabulary); kNoId is embedded as id 0.
struct EmbedArgs {
  DType dtype = DType::kBFloat16;
  const void* table = nullptr;  ///< [vocabulary, hidden]
  const int32_t* ids = nullptr;
  void* y = nullptr;  ///< [rows, hidden]
  int64_t rows = 0, hidden = 0;
  double scale = 1;  ///< rounded to dtype first, as the reference does
};
void RunEmbed(const EmbedArgs& args, cudaStream_t stream);

/// y[i] = x[rows[i]]: the rows whose logits are needed.
struct GatherRowsArgs {
  DType dtype = DType::kBFloat16;
  const void* x = nullptr;
  int64_t x_stride = 0;
  const int64_t* rows = nullptr;  ///< [count]
  void* y = nullptr;              ///< [count, width]
  int64_t count = 0, width = 0;
};
void RunGatherRows(const GatherRowsArgs& args, cudaStream_t stream);

/// Reads each row of logits once. Any output may be null. Of a row with a NaN the argmax is kNoId
/// and all else NaN.
struct LogitsArgs {
  DType dtype = DType::kBFloat16;
  const void* logits = nullptr;  ///< [rows, vocabulary]
  int64_t logits_stride = 0;
  const int32_t* targets = nullptr;  ///< [rows]; -1: none
  float* target_log_prob = nullptr;  ///< [rows], logit of the target - log_sum_exp
  float* log_sum_exp = nullptr;      ///< [rows]
  int32_t* argmax = nullptr;         ///< [rows], the first of the largest
  float* argmax_log_prob = nullptr;  ///< [rows]
  int64_t rows = 0, vocabulary = 0;
  double soft_cap = 0;  ///< > 0: logits become soft_cap * tanh(logit / soft_cap) first
};
void RunLogits(const LogitsArgs& args, cudaStream_t stream);

}  // namespace natsl::kernels::cuda
