// RWKV's token shift on the device, and the mixes made of it.
#pragma once

#include "model_adapters/native/cuda/ops.h"

namespace natsl::model_adapters::native::cuda {

class TokenShift {
 public:
  TokenShift() = default;
  TokenShift(int64_t channels, StatePool& pool)
      : tails_(pool.AddFixed(StateKind::kConvolution, channels)) {}
  /// Rows h_{t-1} - h_t, h_{-1} from the carried row.
  at::Tensor Difference(const at::Tensor& h, const Pass& pass) const;

 private:
  int64_t tails_ = 0;
};

/// h + (coefficients + mix) * difference; `coefficients` [tokens, channels] may be undefined.
at::Tensor Mixed(const at::Tensor& h, const at::Tensor& difference, const at::Tensor& mix,
                 const at::Tensor& coefficients, const Pass& pass);

}  // namespace natsl::model_adapters::native::cuda
