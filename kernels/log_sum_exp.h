// What a language model's head is asked of each row of logits: where the first largest value stands
// and the logarithm of the sum of exponentials, from which any log-probability follows.
#pragma once

#include "kernels/common.h"

namespace natsl::kernels {

struct LogSumExpArgs {
  const float* x = nullptr;  ///< [rows, width], row stride x_stride
  int64_t x_stride = 0;
  int64_t* argmax = nullptr;  ///< [rows]
  double* log_sum = nullptr;  ///< [rows], natural logarithm; NaN where the row has a NaN
  int64_t rows = 0, width = 0;
};

void Validate(const LogSumExpArgs& args);
void RunLogSumExpReference(const LogSumExpArgs& args);
/// Exponentials in float32, their sum in double: within 1e-6 of the reference.
void RunLogSumExpCpu(const LogSumExpArgs& args);

}  // namespace natsl::kernels
