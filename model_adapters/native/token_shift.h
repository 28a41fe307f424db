// RWKV's token shift: the previous token's vector minus the current one's.
#pragma once

#include "model_adapters/native/state.h"

namespace natsl::model_adapters::native {

/// Rows h_{t-1} - h_t, h_{-1} from (and the last row to) the tail that `tail_of` picks from a
/// sequence's layer state (zeros at the start).
at::Tensor ShiftDifference(const at::Tensor& h, Batch& batch, int64_t layer,
                           at::Tensor& (*tail_of)(LayerState&));

}  // namespace natsl::model_adapters::native
